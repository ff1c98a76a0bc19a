"""What a measuring run computes and writes."""
