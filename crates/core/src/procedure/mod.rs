//! (front page follows)
