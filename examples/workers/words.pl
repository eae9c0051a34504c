#!/usr/bin/env perl
# A worker for pulley in Perl: one attempt at a time, nothing but modules that Perl has.
use strict;
use warnings;
use JSON::PP;

my $json = JSON::PP->new->utf8->allow_nonref;
open(my $messages, '>&', \*STDOUT) or die "no standard output: $!";
open(STDOUT, '>&', \*STDERR) or die "no standard error: $!";    # what anybody prints goes to the log
$messages->autoflush(1);

# "pulley" comes first and "id" next, whatever the order of a hash is: so pulley finds a message behind something that was printed.
sub send_message {
    my ($kind, $id, %fields) = @_;
    my $begin = '"pulley":' . $json->encode($kind) . (defined $id ? ',"id":' . $json->encode($id) : '');
    print $messages "{$begin," . substr($json->encode(\%fields), 1) . "\n";
}

my %actions = (
    'words.reverse' => [ ['text'], sub { scalar reverse $_[0]{text} } ],
    'words.count'   => [ ['text'], sub { my @words = split ' ', $_[0]{text}; scalar @words } ],
);

send_message('hello', undef, version => 1, name => 'words', language => 'perl', slots => 1,
    actions => [ map { { name => $_, args => $actions{$_}[0] } } sort keys %actions ]);
while (my $line = <STDIN>) {
    my $message = $json->decode($line);
    my $kind = $message->{pulley} // '';
    last if $kind eq 'bye';
    next if $kind ne 'run';
    my ($id, $args, $action) = ("$message->{id}", $message->{args}, $actions{ $message->{action} });
    if (!$action) {
        send_message('error', $id, type => 'UnknownAction', message => "this worker has no action $message->{action}");
    } elsif ("@{[sort keys %$args]}" ne "@{$action->[0]}") {
        send_message('error', $id, type => 'ArgumentError', message => "$message->{action} takes @{$action->[0]}");
    } else {
        my $value = eval { $action->[1]->($args) };
        if ($@) { send_message('error', $id, type => 'Error', message => "$@") }
        else    { send_message('result', $id, value => $value) }
    }
}
