"""The readers of requests and answers, one module for each of three APIs; pure.

Each module satisfies `reading.ApiReader`.
"""
