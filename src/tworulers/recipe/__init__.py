"""The ResEnc-L training recipe: plan, preprocess, train, predict."""
