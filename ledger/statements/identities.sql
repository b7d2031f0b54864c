SELECT identity FROM events
