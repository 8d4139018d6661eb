/** Reports as SARIF 2.1.0, which code hosts show beside the lines. */
import { VERSION } from '../lib/version.ts';
import type { Finding, Report, Standard } from '../standards/validation.ts';

export function sarifOf(reports: readonly Report[], { rules, title, version }: Standard): object {
  const ids = Object.keys(rules);
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'otel-hooks',
            version: VERSION,
            rules: Object.entries(rules).map(([id, { level, asks, clause }]) => ({
              id,
              shortDescription: { text: asks },
              help: { text: `${asks} (${title} ${version}: ${clause})` },
              defaultConfiguration: { level },
            })),
          },
        },
        columnKind: 'utf16CodeUnits',
        results: reports.flatMap(({ name, findings }) =>
          findings.map(finding => ({
            ruleId: finding.rule,
            ruleIndex: ids.indexOf(finding.rule),
            level: finding.level,
            message: { text: `${finding.why}. Asked for: ${rules[finding.rule]?.asks}.` },
            locations: [locationOf(name, finding)],
          })),
        ),
      },
    ],
  };
}

/** A path is a URI reference in SARIF. Relative paths stay relative to the checkout. */
function locationOf(name: string, { line, column, field }: Finding): object {
  const uri = name.split(/[\\/]/).map(encodeURIComponent).join('/');
  return {
    physicalLocation: { artifactLocation: { uri }, region: { startLine: line, startColumn: column } },
    ...(field === '' ? {} : { logicalLocations: [{ fullyQualifiedName: field, kind: 'member' }] }),
  };
}
