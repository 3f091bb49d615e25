//! Bodies: request bodies are read within the limits on size, time and memory; response bodies are written piece by
//! piece as clients read them.

use crate::error::ApiError;
use crate::memory::Share;
use crate::patience::Patience;
use crate::routes::{App, Served};
use arrow_schema::ArrowError;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::StatusCode;
use hyper::body::Frame;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Answers up to this size are sent at once, with their length in front.
const WHOLE: usize = 256 << 10;
/// How many pieces are written before other tasks have their turn.
const IN_A_ROW: usize = 4;

/// The block size of request bytes that are kept until the request is complete: one size, so that memory is reused.
const BLOCK: usize = 64 << 10;
/// A refused body is still read while the client sends, but for no longer than this.
const REFUSED: Duration = Duration::from_secs(2);

/// Reads the body of a request, with the memory that it takes.
pub(crate) async fn read_body<S: Served>(app: &App<S>, mut body: Body) -> Result<(Bytes, Share), ApiError> {
    let limit = app.site.limits().body_bytes;
    let (mut share, mut patience) = (Share::new(&app.memory), Patience::default());
    let (mut blocks, mut length, mut refused) = (Vec::new(), 0, None);
    // After a refusal the rest is read and discarded, so that the client sees the answer and not a broken connection.
    while length <= 2 * limit {
        let begin = Instant::now();
        let next = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx));
        let frame = match tokio::time::timeout(patience.left(), next).await {
            Ok(Some(frame)) => frame.map_err(|error| ApiError::new(StatusCode::BAD_REQUEST, error.to_string()))?,
            Ok(None) => break,
            Err(_) => {
                let late = || ApiError::new(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive");
                return Err(refused.unwrap_or_else(late));
            }
        };
        let Ok(data) = frame.into_data() else { continue };
        patience.moved(begin.elapsed(), data.len());
        length += data.len();
        if refused.is_some() {
            continue;
        }
        if length == data.len() && length <= limit && body.is_end_stream() {
            share.resize(length)?;
            return Ok((data, share));
        }
        refused = match length <= limit {
            true => share.resize(length + BLOCK).err(),
            false => {
                let message = format!("the body is larger than {limit} bytes");
                Some(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, message))
            }
        };
        match refused {
            None => add(&mut blocks, &data),
            Some(_) => {
                blocks = Vec::new();
                share = Share::new(&app.memory);
                patience = Patience::of(REFUSED);
            }
        }
    }
    if let Some(error) = refused {
        return Err(error);
    }
    share.resize(2 * length)?;
    let mut whole = Vec::with_capacity(length);
    blocks.into_iter().for_each(|block: Vec<u8>| whole.extend_from_slice(&block));
    Ok((whole.into(), share))
}

fn add(blocks: &mut Vec<Vec<u8>>, data: &[u8]) {
    let room = blocks.last().map_or(0, |block| BLOCK - block.len());
    let (here, rest) = data.split_at(room.min(data.len()));
    blocks.iter_mut().last().into_iter().for_each(|block| block.extend_from_slice(here));
    for part in rest.chunks(BLOCK) {
        let mut block = Vec::with_capacity(BLOCK);
        block.extend_from_slice(part);
        blocks.push(block);
    }
}

/// A response body of known length, with its share of memory until it is sent.
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

/// A response body that is written as it is read, unless it is small; its source takes `rest` bytes.
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
