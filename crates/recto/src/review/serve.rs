//! The web server of the review page: one connection after another, data only with the token.

use std::convert::Infallible;
use std::net::TcpListener;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use recto_store::sync::lock;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::actions::{self, Action};
use super::gate::{Gate, Wanted};
use super::html::Html;
use super::model::{FileFilter, Model};
use super::query::{self, Query};
use super::view::ShownForm;
use super::{file_html, nav_html, rows};
use crate::http::Paced;
use crate::limits::{
    HTTP_HEADER, HTTP_HEADER_TIME, HTTP_WRITE_TIME, REVIEW_BODY, REVIEW_CONNECTIONS, REVIEW_IDLE,
};

/// How often the journal is asked whether it changed, while a page is open.
const POLLED_EVERY: Duration = Duration::from_millis(250);

/// How often an event without content is sent, so that a page notices that the server is gone.
const PINGED_EVERY: Duration = Duration::from_secs(10);

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// What is the same for every caller.
const ASSETS: [(&str, &str, &str); 4] = [
    ("/", HTML, include_str!("assets/page.html")),
    ("/script.js", "text/javascript; charset=utf-8", include_str!("assets/script.js")),
    ("/style.css", "text/css; charset=utf-8", super::STYLE),
    ("/icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
];

/// What requests share.
pub struct Server {
    gate: Gate,
    model: Mutex<Model>,
    /// Grows when a page should load again.
    version: watch::Sender<u64>,
    n_pages: AtomicUsize,
    last_use: Mutex<Instant>,
    stop: CancellationToken,
}

impl Server {
    /// Returns a server of a model, which ends when `stop` is cancelled.
    pub fn new(gate: Gate, model: Model, stop: CancellationToken) -> Arc<Server> {
        Arc::new(Server {
            gate,
            model: Mutex::new(model),
            version: watch::Sender::new(0),
            n_pages: AtomicUsize::new(0),
            last_use: Mutex::new(Instant::now()),
            stop,
        })
    }

    /// Serves until it is stopped, or no page was open for a while.
    pub async fn run(self: Arc<Server>, listener: TcpListener) -> Result<(), String> {
        let server = self;
        let listener =
            tokio::net::TcpListener::from_std(listener).map_err(|error| error.to_string())?;
        let permits = Arc::new(Semaphore::new(REVIEW_CONNECTIONS));
        let mut polls = std::pin::pin!(server.polls());
        loop {
            let accept = async {
                let permit = permits.clone().acquire_owned().await.expect("it is never closed");
                (listener.accept().await, permit)
            };
            tokio::select! {
                (accepted, permit) = accept => match accepted {
                    Ok((stream, _)) => {
                        let server = server.clone();
                        tokio::spawn(async move {
                            server.connection(stream).await;
                            drop(permit);
                        });
                    }
                    Err(_) => tokio::time::sleep(POLLED_EVERY).await,
                },
                // Beside the others, because a poll waits for the request that uses the model.
                never = &mut polls => match never {},
                () = server.stop.cancelled() => return Ok(()),
            }
        }
    }

    async fn polls(self: &Arc<Server>) -> Infallible {
        let mut poll = tokio::time::interval(POLLED_EVERY);
        poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            poll.tick().await;
            self.poll().await;
        }
    }

    /// Notices changes of the journal, and ends the server if no page is open.
    async fn poll(self: &Arc<Server>) {
        if self.n_pages.load(Ordering::Relaxed) > 0 {
            let server = self.clone();
            let refreshed = tokio::task::spawn_blocking(move || {
                server.with_model(|model| {
                    model.check_files();
                    // The next request reports an error.
                    let _ = model.refresh();
                });
            });
            let _ = refreshed.await;
            *lock(&self.last_use) = Instant::now();
        } else if lock(&self.last_use).elapsed() > REVIEW_IDLE {
            self.stop.cancel();
        }
    }

    /// Does something with the model, and announces what was noticed meanwhile, also if a request
    /// noticed it: it is not noticed again.
    fn with_model<T>(&self, run: impl FnOnce(&mut Model) -> T) -> T {
        let mut model = lock(&self.model);
        let before = model.n_news();
        let result = run(&mut model);
        if model.n_news() != before {
            self.version.send_modify(|version| *version += 1);
        }
        result
    }

    async fn connection(self: Arc<Server>, stream: tokio::net::TcpStream) {
        let _ = stream.set_nodelay(true);
        let io = TokioIo::new(Paced::new(stream, HTTP_WRITE_TIME));
        let server = self.clone();
        let service = service_fn(move |request| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HTTP_HEADER_TIME)
            .max_buf_size(HTTP_HEADER)
            .serve_connection(io, service);
        tokio::select! {
            _ = connection => {}
            () = self.stop.cancelled() => {}
        }
    }

    async fn answer(self: Arc<Server>, request: Request<Incoming>) -> Response<ReviewBody> {
        let path = request.uri().path();
        let wanted = self.gate.check(request.method(), path, request.headers());
        let mut response = match wanted {
            Err((status, why)) => response(status, TEXT, why.into()),
            Ok(Wanted::Page) => match ASSETS.iter().find(|(own, ..)| *own == path) {
                Some((_, kind, text)) => response(StatusCode::OK, kind, text.to_string()),
                None => response(StatusCode::NOT_FOUND, TEXT, "There is no such page\n".into()),
            },
            Ok(Wanted::Data) => {
                *lock(&self.last_use) = Instant::now();
                match path {
                    "/api/events" => self.events(),
                    _ => self.data(request).await,
                }
            }
        };
        Gate::add_headers(response.headers_mut());
        response
    }

    /// Opens a stream of events: one at once, and one for each change.
    fn events(self: Arc<Server>) -> Response<ReviewBody> {
        let (sender, receiver) = mpsc::channel(4);
        let mut version = self.version.subscribe();
        version.mark_changed();
        self.n_pages.fetch_add(1, Ordering::Relaxed);
        tokio::spawn(async move {
            let mut ping = tokio::time::interval(PINGED_EVERY);
            loop {
                let event = tokio::select! {
                    changed = version.changed() => match changed {
                        Ok(()) => format!("data: {}\n\n", *version.borrow_and_update()),
                        Err(_) => break,
                    },
                    _ = ping.tick() => ":\n\n".to_string(),
                    () = sender.closed() => break,
                    () = self.stop.cancelled() => break,
                };
                if sender.send(Bytes::from(event)).await.is_err() {
                    break;
                }
            }
            self.n_pages.fetch_sub(1, Ordering::Relaxed);
        });
        typed(StatusCode::OK, "text/event-stream", ReviewBody::Events(receiver))
    }

    async fn data(self: Arc<Server>, request: Request<Incoming>) -> Response<ReviewBody> {
        let (parts, body) = request.into_parts();
        let body = match parts.method == Method::POST {
            true => Limited::new(body, REVIEW_BODY).collect().await.map(|it| it.to_bytes()),
            false => Ok(Bytes::new()),
        };
        let Ok(body) = body else {
            let why = "The request is too large\n".into();
            return response(StatusCode::PAYLOAD_TOO_LARGE, TEXT, why);
        };
        let answered = tokio::task::spawn_blocking(move || {
            let refreshed = self.with_model(Model::refresh);
            // What the answer contains at least. A page compares it with the next event.
            let version = *self.version.borrow();
            let mut answer = match refreshed {
                Err(why) => response(StatusCode::UNPROCESSABLE_ENTITY, TEXT, why + "\n"),
                Ok(()) => self.with_model(|model| {
                    answer(model, &parts.method, parts.uri.path(), parts.uri.query(), &body)
                }),
            };
            answer.headers_mut().insert("x-version", HeaderValue::from(version));
            answer
        });
        answered.await.unwrap_or_else(|_| {
            let why = "A bug in recto ended this request\n".into();
            response(StatusCode::INTERNAL_SERVER_ERROR, TEXT, why)
        })
    }
}

/// Answers a request for data.
fn answer(
    model: &mut Model,
    method: &Method,
    path: &str,
    query: Option<&str>,
    body: &[u8],
) -> Response<ReviewBody> {
    let query = Query::new(query);
    let answered = match (method, path) {
        (&Method::GET, "/api/nav") => {
            Ok((HTML, nav_html::sessions(model, &filter(&query)).into_string()))
        }
        (&Method::GET, "/api/files") => {
            let from = query.number("from").max(0) as usize;
            let html = nav_html::files(model, &query.text("s"), &filter(&query), from);
            Ok((HTML, html.into_string()))
        }
        (&Method::GET, "/api/next") => Ok(("application/json", next(model, &query).to_string())),
        (&Method::GET, "/api/file") => file(model, &query).map(|html| (HTML, html.into_string())),
        (&Method::GET, "/api/lines") => lines(model, &query).map(|html| (HTML, html.into_string())),
        (&Method::POST, "/api/act") => serde_json::from_slice::<Action>(body)
            .map_err(|error| error.to_string())
            .and_then(|action| actions::act(model, &action))
            .map(|done| ("application/json", done.to_string())),
        _ => return response(StatusCode::NOT_FOUND, TEXT, "There is no such address\n".into()),
    };
    match answered {
        Ok((kind, text)) => response(StatusCode::OK, kind, text),
        Err(why) => response(StatusCode::UNPROCESSABLE_ENTITY, TEXT, why + "\n"),
    }
}

fn filter(query: &Query<'_>) -> FileFilter {
    FileFilter::new(query.text("q"), query.text("state"))
}

/// Returns the file after or before one in the list, with its place among those of its session.
fn next(model: &mut Model, query: &Query<'_>) -> Value {
    let path = query::path(&model.root, &query.bytes("f"));
    let found = model.next_file(&query.text("s"), &path, query.number("step") < 0, &filter(query));
    let Some((session, n, path)) = found else { return Value::Null };
    json!({"s": session, "f": query::encode(model.shown(&path)), "n": n})
}

fn style(query: &Query<'_>) -> file_html::FileStyle {
    let is_split = query.text("split") == "1";
    let n_items = query.number("n").max(0) as usize;
    file_html::FileStyle { is_split, opens_gaps: true, n_items, ..Default::default() }
}

fn file(model: &mut Model, query: &Query<'_>) -> Result<Html, String> {
    let path = query::path(&model.root, &query.bytes("f"));
    model.watch(&path);
    let session = model.session(&query.text("s")).ok_or("There is no such session")?;
    let file = session.files.iter().find(|file| file.path == path);
    let file = file.ok_or("The session did not change this file")?;
    let from = query.number("from").max(0) as usize;
    let view = model.view(file)?;
    let mut html = Html::default();
    if from == 0 {
        file_html::header(&mut html, model, file, &view, style(query));
    }
    let is_read = view.form != ShownForm::Unread;
    match is_read && query.text("view") == "changes" {
        true => file_html::changes(&mut html, model, file, from, style(query))?,
        false => file_html::items(&mut html, model, &view, &path, from, style(query)),
    }
    Ok(html)
}

fn lines(model: &mut Model, query: &Query<'_>) -> Result<Html, String> {
    let path = query::path(&model.root, &query.bytes("f"));
    let session = model.session(&query.text("s")).ok_or("There is no such session")?;
    let file = session.files.iter().find(|file| file.path == path);
    let view = model.view(file.ok_or("The session did not change this file")?)?;
    let [start, end] = ["a", "b"].map(|name| query.number(name).max(0) as usize);
    let rows = rows::lines(&view, &path, start..end, query.number("d"));
    let mut html = Html::default();
    super::diff_html::rows(&mut html, &rows, style(query).is_split);
    Ok(html)
}

fn response(status: StatusCode, kind: &'static str, text: String) -> Response<ReviewBody> {
    typed(status, kind, ReviewBody::Text(Some(Bytes::from(text))))
}

fn typed(status: StatusCode, kind: &'static str, body: ReviewBody) -> Response<ReviewBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// The body of a response.
pub enum ReviewBody {
    Text(Option<Bytes>),
    Events(mpsc::Receiver<Bytes>),
}

impl Body for ReviewBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            ReviewBody::Text(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            ReviewBody::Events(receiver) => {
                receiver.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, ReviewBody::Text(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReviewBody::Text(text) => {
                SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64)
            }
            ReviewBody::Events(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::mpsc;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::http::Secret;

    const MAX_WAIT: Duration = Duration::from_secs(20);

    async fn get(port: u16) -> String {
        let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let request =
            format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn a_slow_request_delays_neither_connections_nor_the_end() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let model = super::super::model::empty(folder.path());
        let stop = CancellationToken::new();
        let token = Secret::random().unwrap();
        let server = Server::new(Gate { port, token }, model, stop.clone());
        server.n_pages.store(1, Ordering::Relaxed);
        let (slow, (started, is_started), (end, ends)) =
            (server.clone(), mpsc::channel(), mpsc::channel::<()>());
        let slow = std::thread::spawn(move || {
            slow.with_model(|_| {
                started.send(()).unwrap();
                let _ = ends.recv();
            });
        });
        is_started.recv().unwrap();
        let running = tokio::spawn(server.run(listener));
        for _ in 0..4 {
            let answer = tokio::time::timeout(MAX_WAIT, get(port)).await.unwrap();
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            tokio::time::sleep(POLLED_EVERY).await;
        }
        stop.cancel();
        tokio::time::timeout(MAX_WAIT, running).await.unwrap().unwrap().unwrap();
        drop(end);
        slow.join().unwrap();
    }
}
