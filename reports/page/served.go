package page

// Link leads to another page of a server.
type Link struct{ Text, Address string }

// Style is the style sheet of every page, Script its script, for pages of a server that should look and sort alike. The script
// expects a header, and an element with the id chart-data that holds a JSON list.
func Style() string { return styleSheet }

// Script belongs to Style.
func Script() string { return script }

// Hash returns a text as a content security policy names it: a style sheet or a script, exactly as it is between its tags.
func Hash(text string) string { return "'" + hashOf(text) + "'" }
