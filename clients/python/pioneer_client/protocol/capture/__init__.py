"""The public language of conversations that come through programs which know no memory."""
