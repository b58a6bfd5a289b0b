"""Report: answers shown to people: terminal, HTML, charts; both languages.

Takes finished records and turns codes into sentences and figures into pictures. Computes no answer: a number
on a page stands in the record that it came from. Makes no external request and needs none to be read.
"""
