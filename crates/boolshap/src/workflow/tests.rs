//! The front door: requests from text, refusals before work, and scores that agree with the definition.
