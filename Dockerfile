# An image in which RDMA programs find a device:
#   docker build -t wireproof . && docker run --rm -it wireproof ibv_devinfo
FROM debian:12 AS build
COPY . /wireproof
RUN apt-get update && /wireproof/tools/device.sh --prefix /opt/wireproof

FROM debian:12
RUN apt-get update && apt-get install -y --no-install-recommends ibverbs-utils rdmacm-utils perftest && \
    rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/wireproof /opt/wireproof
ENV LD_LIBRARY_PATH=/opt/wireproof/lib/wireproof \
    LD_PRELOAD=/opt/wireproof/lib/wireproof/libwireproof-hooks.so
USER nobody
