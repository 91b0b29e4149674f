//! How a client gets its answers.

/// The parts of an answer that are sent, and their size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivery {
    /// The parts that are sent.
    pub form: AnswerForm,
    /// The maximum bytes of all text blocks together, and separately of the structured part as JSON.
    pub max_bytes: usize,
}

/// The parts of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AnswerForm {
    /// Text for a model, and an object for programs.
    #[default]
    Both,
    /// Only text.
    Text,
    /// The object, and its JSON as the text.
    Structured,
}
