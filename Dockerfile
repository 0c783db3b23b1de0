# Artemis with Appium, Chromium and the demo phone in one image.
#
#   docker build -t artemis .
#   docker run --rm -p 127.0.0.1:8765:8765 -e ARTEMIS_ACCESS_TOKEN=… -v artemis:/data artemis

FROM node:24-bookworm-slim AS node

WORKDIR /artemis
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund


FROM python:3.12-slim-bookworm

# libatomic1: Node. procps: Appium's Chromium driver calls pkill. tini: reaps orphaned processes.
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        chromium chromium-driver chromium-headless-shell fonts-liberation libatomic1 procps tini \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 artemis \
    && install -d -o artemis -g artemis /data

WORKDIR /artemis
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /artemis/node_modules node_modules
COPY requirements.lock requirements-ocr.lock ./
RUN pip install --no-cache-dir --require-hashes -r requirements.lock \
    && pip install --no-cache-dir --require-hashes -r requirements-ocr.lock

COPY package.json pyproject.toml README.md LICENSE alembic.ini ./
COPY app app
COPY alembic alembic
COPY static static
COPY templates templates
RUN pip install --no-cache-dir --no-deps --no-build-isolation -e .

USER artemis
ENV PYTHONUNBUFFERED=1 \
    ARTEMIS_DATA_DIR=/data \
    ARTEMIS_HOST=0.0.0.0 \
    ARTEMIS_PORT=8765 \
    ARTEMIS_NODE=/usr/local/bin/node \
    ARTEMIS_CHROMIUM=/usr/lib/chromium/chromium-headless-shell \
    ARTEMIS_CHROMEDRIVER=/usr/bin/chromedriver
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz', timeout=4)"]
ENTRYPOINT ["tini", "--"]
CMD ["artemis", "serve", "--demo"]
