# Two images: `programs` (the default, and last) has worker and starter, and nothing
# else; `devstack` has the dev stack's stand-ins besides, for the compose file. Static
# binaries, no root. VERSION is what the programs call themselves.
FROM golang:1.26.8-alpine3.23 AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY devstack/go.mod devstack/go.sum ./devstack/
RUN go mod download && cd devstack && go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-X sluice.version=${VERSION}" -o /out/worker ./worker \
 && CGO_ENABLED=0 go build -trimpath -ldflags "-X sluice.version=${VERSION}" -o /out/starter ./starter
RUN cd devstack && CGO_ENABLED=0 go build -trimpath -o /out-devstack/devstack .

FROM alpine:3.23 AS base
RUN apk add --no-cache ca-certificates && adduser -D -H -u 10001 sluice
COPY --from=build /out/ /usr/local/bin/
USER 10001:10001
ENTRYPOINT ["/usr/local/bin/worker"]

FROM base AS devstack
COPY --from=build /out-devstack/ /usr/local/bin/

FROM base AS programs
ARG VERSION=dev
LABEL org.opencontainers.image.title="sluice" org.opencontainers.image.version="${VERSION}"
