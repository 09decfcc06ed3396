//! The live connection of a blocking client.

use std::net::TcpStream;
use std::time::Duration;

use tungstenite::{Message, WebSocket};

use super::ClientError;
use crate::BASE_PATH;
use crate::live::{LiveCall, LiveFrame, LiveHello};

/// How long nothing may come; the server says something at least every 15 seconds.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);

/// Receives every event once, in order.
#[derive(Debug)]
pub struct LiveStream {
    socket: WebSocket<TcpStream>,
    address: String,
}

impl LiveStream {
    /// Connects to a server at `host:port` and says hello; `since` is the last event that was seen.
    pub fn connect(address: &str, token: &str, since: Option<i64>) -> Result<Self, ClientError> {
        let unreachable = |reason: String| ClientError::Unreachable { address: address.to_owned(), reason };
        let stream = TcpStream::connect(address).map_err(|error| unreachable(error.to_string()))?;
        stream.set_read_timeout(Some(SILENCE_LIMIT)).map_err(|error| unreachable(error.to_string()))?;
        let url = format!("ws://{address}{BASE_PATH}/live");
        let (mut socket, _) =
            tungstenite::client(url, stream).map_err(|error| unreachable(error.to_string()))?;
        let hello = LiveHello { token: token.to_owned(), since };
        let hello = serde_json::to_string(&hello).map_err(|error| unreachable(error.to_string()))?;
        socket.send(Message::text(hello)).map_err(|error| unreachable(error.to_string()))?;
        Ok(Self { socket, address: address.to_owned() })
    }

    /// Asks for an operation; its answer is one of the next frames.
    pub fn call(&mut self, call: &LiveCall) -> Result<(), ClientError> {
        let unreachable = |reason| ClientError::Unreachable { address: self.address.clone(), reason };
        let call = serde_json::to_string(call).map_err(|error| unreachable(error.to_string()))?;
        self.socket.send(Message::text(call)).map_err(|error| unreachable(error.to_string()))
    }

    /// Waits for the next frame.
    pub fn next_frame(&mut self) -> Result<LiveFrame, ClientError> {
        loop {
            let address = || self.address.clone();
            match self.socket.read() {
                Ok(Message::Text(text)) => {
                    return serde_json::from_str(&text).map_err(|error| ClientError::Unreadable {
                        address: address(),
                        reason: error.to_string(),
                    });
                }
                Ok(Message::Close(_)) => {
                    let reason = "it closed the live connection".to_owned();
                    return Err(ClientError::Unreachable { address: address(), reason });
                }
                Ok(_) => {}
                // A signal, such as the end of a child, cut the wait short; nothing was lost.
                Err(tungstenite::Error::Io(error)) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(ClientError::Unreachable { address: address(), reason: error.to_string() });
                }
            }
        }
    }
}
