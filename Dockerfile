# The image of `otel-hooks serve`: docs/platform.md shows how to run it.
#
#     npm ci && npm run build
#     docker build --tag otel-hooks .
#
# The packed npm package has this file beside its `dist`, so the second line also works in an unpacked package.
# BASE is any image with Node 20 or newer, `sh`, `mkdir`, `chown` and `ln`.
ARG BASE=node:24-bookworm-slim
FROM ${BASE}

COPY dist /opt/otel-hooks

# A new volume that is mounted on /var/lib/otel-hooks takes its owner from this folder. The state folder is below it,
# because the top of a volume often belongs to root.
RUN mkdir -p -m 0700 /var/lib/otel-hooks && chown 1000:1000 /var/lib/otel-hooks \
  && ln -s /opt/otel-hooks/otel-hooks.cjs /usr/local/bin/otel-hooks

# XDG_CONFIG_HOME holds config.json, if there is one, and the token, unless --token-file names it.
ENV NODE_ENV=production \
  OTEL_HOOKS_STATE_DIR=/var/lib/otel-hooks/state \
  XDG_CONFIG_HOME=/var/lib/otel-hooks/config

USER 1000:1000
VOLUME /var/lib/otel-hooks
EXPOSE 4319

# For plain HTTP at port 4319. Replace it if you use --cert or another port.
HEALTHCHECK --interval=30s --timeout=5s CMD ["node", "-e", "fetch('http://127.0.0.1:4319/readyz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["node", "/opt/otel-hooks/otel-hooks.cjs"]
# Without flags it listens at 127.0.0.1 only, as a sidecar of an agent needs it. So it is never reachable from other
# machines by mistake.
CMD ["serve"]
