//! Either transport as one type, so that the program contains the protocol once.

use std::borrow::Cow;
use std::error::Error;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

type Sent = TxJsonRpcMessage<RoleClient>;
type Received = RxJsonRpcMessage<RoleClient>;

/// A transport of any kind.
pub(crate) struct AnyTransport(Box<dyn ErasedTransport>);

/// What is wrong with a transport.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct TransportError(#[source] Box<dyn Error + Send + Sync>);

impl AnyTransport {
    pub fn new(transport: impl Transport<RoleClient> + 'static) -> Self {
        Self(Box::new(transport))
    }
}

impl Transport<RoleClient> for AnyTransport {
    type Error = TransportError;

    fn name() -> Cow<'static, str> {
        "transport".into()
    }

    fn send(&mut self, message: Sent) -> impl Future<Output = Result<(), TransportError>> + Send + 'static {
        self.0.send_boxed(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<Received>> + Send {
        self.0.receive_boxed()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), TransportError>> + Send {
        self.0.close_boxed()
    }
}

/// A transport whose futures and errors have one type.
trait ErasedTransport: Send {
    fn send_boxed(&mut self, message: Sent) -> BoxFuture<'static, Result<(), TransportError>>;

    fn receive_boxed(&mut self) -> BoxFuture<'_, Option<Received>>;

    fn close_boxed(&mut self) -> BoxFuture<'_, Result<(), TransportError>>;
}

impl<T: Transport<RoleClient>> ErasedTransport for T {
    fn send_boxed(&mut self, message: Sent) -> BoxFuture<'static, Result<(), TransportError>> {
        self.send(message).map(erased).boxed()
    }

    fn receive_boxed(&mut self) -> BoxFuture<'_, Option<Received>> {
        self.receive().boxed()
    }

    fn close_boxed(&mut self) -> BoxFuture<'_, Result<(), TransportError>> {
        self.close().map(erased).boxed()
    }
}

fn erased<E: Error + Send + Sync + 'static>(result: Result<(), E>) -> Result<(), TransportError> {
    result.map_err(|error| TransportError(Box::new(error)))
}
