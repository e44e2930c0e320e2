module varve.example/kivik

go 1.19

require github.com/go-kivik/kivik/v4 v4.5.0

require (
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/net v0.25.0 // indirect
	golang.org/x/sync v0.11.0 // indirect
)
