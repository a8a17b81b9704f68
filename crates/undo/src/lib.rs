//! What runs changed in the workspace, and how it is put back.
