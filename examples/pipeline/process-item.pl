# Reads {"item": {"id": n, …}} and writes {"id": n, "hash": "hash_n", "score": 10 n}.
use strict;
use warnings;
use JSON::PP;

my $item = decode_json(do { local $/; <STDIN> })->{item};
if (ref $item ne 'HASH' or !defined $item->{id}) {
    print STDERR encode_json({ type => 'ArgumentError', message => 'an item has an id' }), "\n";
    exit 1;
}
print encode_json({ id => $item->{id}, hash => "hash_$item->{id}", score => $item->{id} * 10 }), "\n";
