/**
 * A token server of OAuth 2 for tests: oidc-provider, in a process of its own, because it writes notices to its output.
 * Arguments: the client and its secret. It prints its address.
 */
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const [client_id, client_secret] = process.argv.slice(2);
const client = { client_id, client_secret, grant_types: ['client_credentials'], redirect_uris: [], response_types: [] };
const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const address = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(address, {
    clients: [
      { ...client, token_endpoint_auth_method: 'client_secret_basic' },
      { ...client, client_id: `${client_id}-post`, token_endpoint_auth_method: 'client_secret_post' },
    ],
    features: { clientCredentials: { enabled: true }, introspection: { enabled: true }, revocation: { enabled: true } },
    scopes: ['telemetry'],
    ttl: { ClientCredentials: 60 },
  });
  server.on('request', provider.callback());
  process.stdout.write(`listening ${address}\n`);
});
process.on('disconnect', () => process.exit());
