//! Tables to charts.
