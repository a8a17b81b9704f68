//! The requests that the model received.

use std::io::{self, BufRead, Read};

use serde_json::Value;

/// A request as received.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method, in capitals.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null if it is empty, a string if it is not JSON.
    pub body: Value,
}

impl Request {
    /// Returns the value of a header; `name` is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    /// Returns the first message of the user as JSON text.
    pub(crate) fn first_message(&self) -> String {
        let messages = self.body["messages"].as_array().into_iter().flatten();
        let mut of_user = messages.filter(|message| message["role"] == "user");
        of_user.next().map(ToString::to_string).unwrap_or_default()
    }

    /// Reads the next request of a connection; `None` if the client has closed it.
    pub(crate) fn read(source: &mut impl BufRead) -> io::Result<Option<Self>> {
        let Some(start) = read_line(source)? else { return Ok(None) };
        let mut words = start.split(' ');
        let method = words.next().unwrap_or_default().to_owned();
        let path = words.next().unwrap_or_default().to_owned();
        let mut headers = Vec::new();
        while let Some(line) = read_line(source)?.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or(io::ErrorKind::InvalidData)?;
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let mut request = Self { method, path, headers, body: Value::Null };
        let bytes = request.read_body(source)?;
        if !bytes.is_empty() {
            request.body = serde_json::from_slice(&bytes)
                .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned()));
        }
        Ok(Some(request))
    }

    fn read_body(&self, source: &mut impl BufRead) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if self.header("transfer-encoding").is_some_and(|encoding| encoding.contains("chunked")) {
            loop {
                let size = read_line(source)?.ok_or(io::ErrorKind::UnexpectedEof)?;
                let size = u64::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
                source.take(size).read_to_end(&mut bytes)?;
                read_line(source)?;
                if size == 0 {
                    return Ok(bytes);
                }
            }
        }
        let length = self.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        source.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Reads a line without its end; `None` at the end of the connection.
fn read_line(source: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    if source.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(Some(line))
}
