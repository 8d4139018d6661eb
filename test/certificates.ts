/** Certificates for tests, generated in each run, so that none expires and no private key is in the repository. */
import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

cryptoProvider.set(webcrypto);

/** Both in PEM. */
export interface Certified {
  cert: string;
  key: string;
}

const DAY_MS = 86_400_000;
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const keyPair = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
const validity = (): { notBefore: Date; notAfter: Date } => ({
  notBefore: new Date(Date.now() - DAY_MS),
  notAfter: new Date(Date.now() + DAY_MS),
});

/** A self-signed certificate for the names of a server. */
export async function selfSigned(...names: string[]): Promise<Certified> {
  const keys = await keyPair();
  const extensions = [alternativeNames(names)];
  const name = `CN=${names[0]}`;
  return pem(await X509CertificateGenerator.createSelfSigned({ name, keys, extensions, ...validity() }), keys);
}

export interface Authority {
  cert: string;
  server(...names: string[]): Promise<Certified>;
  client(name: string): Promise<Certified>;
}

/** A certificate authority that signs certificates of servers and clients. */
export async function authority(name: string): Promise<Authority> {
  const keys = await keyPair();
  const issuer = `CN=${name}`;
  const extensions = [new BasicConstraintsExtension(true, undefined, true)];
  const own = await X509CertificateGenerator.createSelfSigned({ name: issuer, keys, extensions, ...validity() });
  const issue = async (subject: string, extension: Extension): Promise<Certified> => {
    const their = await keyPair();
    const made = await X509CertificateGenerator.create({
      subject: `CN=${subject}`,
      issuer,
      publicKey: their.publicKey,
      signingKey: keys.privateKey,
      extensions: [extension],
      ...validity(),
    });
    return pem(made, their);
  };
  return {
    cert: own.toString('pem'),
    server: (...names) => issue(names[0] ?? '', alternativeNames(names)),
    client: subject => issue(subject, new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth])),
  };
}

function alternativeNames(names: string[]): Extension {
  return new SubjectAlternativeNameExtension(
    names.map(value => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }) as const),
  );
}

async function pem(certificate: X509Certificate, keys: webcrypto.CryptoKeyPair): Promise<Certified> {
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64');
  const lines = key.match(/.{1,64}/g) ?? [];
  return {
    cert: `${certificate.toString('pem')}\n`,
    key: `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`,
  };
}
