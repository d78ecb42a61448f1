# What programs are made of: the headers they include, and the examples.
