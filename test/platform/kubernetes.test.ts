/** The manifests of `kubernetes/`: valid for the schemas of Kubernetes, without unknown fields, and with flags that exist. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { StatefulSet } from 'kubernetes-models/apps/v1';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { Pod, Service, ServiceAccount } from 'kubernetes-models/v1';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { parseWords } from '../../src/commands/command.ts';
import { commands } from '../../src/commands/registry.ts';

const root = join(import.meta.dirname, '..', '..');
const folder = join(root, 'kubernetes');

const kinds = {
  'apps/v1 StatefulSet': { from: 'kubernetes-models/apps/v1', model: StatefulSet },
  'networking.k8s.io/v1 NetworkPolicy': { from: 'kubernetes-models/networking.k8s.io/v1', model: NetworkPolicy },
  'v1 Pod': { from: 'kubernetes-models/v1', model: Pod },
  'v1 Service': { from: 'kubernetes-models/v1', model: Service },
  'v1 ServiceAccount': { from: 'kubernetes-models/v1', model: ServiceAccount },
} as const;

interface Resource {
  apiVersion: string;
  kind: keyof typeof kinds;
  spec?: unknown;
}

const files = readdirSync(folder).filter(name => name.endsWith('.yaml'));
const resources = files.flatMap(file =>
  parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map(document => {
    expect(document.errors).toEqual([]);
    return { file, resource: document.toJS() as Resource };
  }),
);
const kindOf = ({ apiVersion, kind }: Resource): (typeof kinds)[keyof typeof kinds] => {
  const known = Object.entries(kinds).find(([name]) => name === `${apiVersion} ${kind}`)?.[1];
  if (known === undefined) throw new Error(`${apiVersion} ${kind} is no kind of this test`);
  return known;
};

describe('the manifests', () => {
  it.each(resources.map(each => [`${each.file}: ${each.resource.kind}`, each.resource] as const))(
    '%s fits the schema',
    (_, resource) => {
      const { model } = kindOf(resource);
      const made: { validate(): void } = new model(resource as never);
      expect(() => made.validate()).not.toThrow();
    },
  );

  it('have no field that Kubernetes does not know', () => {
    // The schemas allow unknown fields; the types that are made from the same definitions do not.
    const place = mkdtempSync(join(root, 'node_modules', '.kubernetes-'));
    const check = (shown: readonly Resource[]): string => {
      const lines = shown.map(resource => {
        const { from } = kindOf(resource);
        return `export const x${shown.indexOf(resource)}: import('${from}').I${resource.kind} = ${JSON.stringify(resource)};`;
      });
      writeFileSync(join(place, 'manifests.ts'), lines.join('\n'));
      const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
      const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2022'];
      const words = [tsc, '--ignoreConfig', ...flags, join(place, 'manifests.ts')];
      return spawnSync(process.execPath, words, { cwd: place, encoding: 'utf8' }).stdout;
    };
    try {
      const all = resources.map(({ resource }) => resource);
      expect(check(all)).toBe('');
      const [first] = all.filter(({ kind }) => String(kind) === 'StatefulSet');
      const odd = structuredClone(first) as unknown as { spec: Record<string, unknown> };
      odd.spec.replica = 1;
      expect(check([odd as unknown as Resource])).toMatch(/replica.*does not exist/);
    } finally {
      rmSync(place, { recursive: true });
    }
  });

  interface Container {
    name: string;
    image: string;
    args?: string[];
    securityContext?: object;
  }
  interface PodSpec {
    containers: Container[];
    initContainers?: Container[];
    securityContext?: object;
  }
  const pods = resources.flatMap(({ resource }) => {
    const spec = resource.spec as (PodSpec & { template?: { spec: PodSpec } }) | undefined;
    const pod = spec?.template?.spec ?? (spec?.containers ? spec : undefined);
    return pod === undefined ? [] : [pod];
  });
  const containers = pods
    .flatMap(pod => [...(pod.initContainers ?? []), ...pod.containers])
    .filter(({ name }) => name === 'otel-hooks');

  it('start `serve` with flags that it has, and with this version', () => {
    const serve = commands.find(({ name }) => name === 'serve');
    if (serve === undefined) throw new Error('no command serve');
    expect(containers).toHaveLength(2);
    for (const { args = [], image } of containers) {
      expect(args[0]).toBe('serve');
      expect(parseWords(serve, args.slice(1))).toMatchObject({ ok: true });
      expect(image.split(':')[1]).toBe(manifest.version.replace(/-.*/, ''));
    }
  });

  it('run without root and without capabilities, on a read-only file system', () => {
    for (const pod of pods) expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, fsGroup: 1000 });
    for (const { securityContext } of containers)
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
  });
});
