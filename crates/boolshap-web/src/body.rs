//! Bodies: those of requests are read within their limit, their time and the server's memory; those of answers are written
//! piece by piece as their readers take them.

use crate::error::ApiError;
use crate::memory::Share;
use crate::patience::Patience;
use crate::routes::App;
use arrow_schema::ArrowError;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::StatusCode;
use hyper::body::Frame;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

/// Answers up to this size have a length in front and are written at once.
const WHOLE: usize = 256 << 10;
/// Pieces that are written before others have their turn.
const IN_A_ROW: usize = 4;

/// Reads the body of a request, with the memory that it takes.
pub(crate) async fn read_body(app: &App, mut body: Body) -> Result<(Bytes, Share), ApiError> {
    let limit = app.site.limits.body_bytes;
    let (mut share, mut patience) = (Share::new(&app.memory), Patience::default());
    let (mut first, mut whole, mut length, mut refused) = (Bytes::new(), Vec::new(), 0, None);
    // What is refused is read on for a while, so that the client reads the answer and not that the connection broke.
    while length <= 2 * limit {
        let begin = Instant::now();
        let next = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx));
        let late = |_| ApiError::new(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive");
        let Some(frame) = tokio::time::timeout(patience.left(), next).await.map_err(late)? else { break };
        let frame = frame.map_err(|error| ApiError::new(StatusCode::BAD_REQUEST, error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        patience.moved(begin.elapsed(), data.len());
        length += data.len();
        if length > limit {
            let message = format!("the body is larger than {limit} bytes");
            refused.get_or_insert(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message));
        } else if refused.is_none() {
            refused = share.resize(length + length / 4).err();
        }
        match refused {
            Some(_) => (first, whole) = (Bytes::new(), Vec::new()),
            None if length == data.len() => first = data,
            None => {
                whole.extend_from_slice(&std::mem::take(&mut first));
                whole.extend_from_slice(&data);
            }
        }
    }
    match refused {
        Some(error) => Err(error),
        None => Ok((if whole.is_empty() { first } else { whole.into() }, share)),
    }
}

/// The body of an answer of known length, with the memory that it takes until it is sent.
pub(crate) fn whole_body(bytes: Vec<u8>, mut share: Share) -> Result<Body, ApiError> {
    share.resize(bytes.len())?;
    Ok(Body::from(Bytes::from_owner(Held { bytes, _share: share })))
}

struct Held {
    bytes: Vec<u8>,
    _share: Share,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The body of an answer that is written as it is read, unless it is small; what it is made from takes `rest` bytes.
pub(crate) fn body_of_pieces(
    pieces: impl Iterator<Item = Result<Vec<u8>, ArrowError>> + Send + 'static,
    mut share: Share,
    rest: usize,
) -> Result<Body, ApiError> {
    let wrong = |error: ArrowError| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    let mut pieces = pieces.fuse();
    let mut begin = Vec::new();
    while begin.len() <= WHOLE {
        match pieces.next() {
            Some(piece) if begin.is_empty() => begin = piece.map_err(wrong)?,
            Some(piece) => begin.append(&mut piece.map_err(wrong)?),
            None => return whole_body(begin, share),
        }
    }
    share.resize(rest + begin.len())?;
    let pieces = Box::new(std::iter::once(Ok(begin)).chain(pieces));
    Ok(Body::new(PiecewiseBody { pieces, in_a_row: 0, _share: share }))
}

struct PiecewiseBody {
    pieces: Box<dyn Iterator<Item = Result<Vec<u8>, ArrowError>> + Send>,
    in_a_row: usize,
    _share: Share,
}

impl HttpBody for PiecewiseBody {
    type Data = Bytes;
    type Error = ArrowError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, ArrowError>>> {
        if self.in_a_row == IN_A_ROW {
            self.in_a_row = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.in_a_row += 1;
        Poll::Ready(self.pieces.next().map(|piece| piece.map(|piece| Frame::data(piece.into()))))
    }
}
