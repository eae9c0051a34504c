# Reads {"chunk_id": n, "items": [{"score": …}, …], "is_valid": …} and writes {"chunk_id": n, "total": …, "digest": "chunk_n"}.
use strict;
use warnings;
use JSON::PP;

my $args = decode_json(do { local $/; <STDIN> });
my $total = 0;
if ($args->{is_valid}) {
    $total += $_->{score} for @{ $args->{items} };
}
print encode_json({ chunk_id => $args->{chunk_id}, total => $total, digest => "chunk_$args->{chunk_id}" }), "\n";
