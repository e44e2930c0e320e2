uf1ed9a6c63ade1e7ebc3517f4b6374ba3450e1db
test
1 0
a

commit 1u844fd0fe26dcfbdf64e86cdb715c4ceb481ec5e4
test
2 0
a

commit 2u0e59f027edd6ccf128c84f4397cdc0faeb9d78ce
test
3 0
a

commit 3u3615e7417759f9e453b4bf5b4507dada7c43986f
test
4 0
a

commit 4u6e73304f01e642d841e7ff07571d3af18717ccf6
test
5 0
a

commit 5