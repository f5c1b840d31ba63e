import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../components/run-command.ts'

/** Runs `helm template` on an archive with values as JSON; answers what it printed, or the words of its error. */
export const helmTemplate = async (command: string, archive: Uint8Array, values: string): Promise<{ readonly manifest: string } | { readonly error: string }> => {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-template-'))
  try {
    const [chart, file] = [join(folder, 'chart.tgz'), join(folder, 'values.json')]
    writeFileSync(chart, archive)
    writeFileSync(file, values)
    const { status, stdout, stderr } = await runCommand(command, ['template', 'release', chart, '-f', file, '--skip-schema-validation'], {
      timeoutMilliseconds: 30_000,
      // A process of fifty milliseconds needs no garbage collector.
      environment: { GOGC: 'off', HOME: folder, HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder },
    })
    return status === 0 ? { manifest: stdout } : { error: stderr }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A template that prints the values of its own chart as JSON, after the chart's name. */
export const tellValues = '---\nvalues: {{ .Values | toJson | b64enc }}\n'

/** What `tellValues` printed, by the path of the template. */
export const toldValues = (manifest: string): ReadonlyMap<string, unknown> =>
  new Map(
    [...manifest.matchAll(/# Source: (\S+)\nvalues: (\S+)/g)].map(([, source = '', encoded = '']) => [source, JSON.parse(Buffer.from(encoded, 'base64').toString('utf8')) as unknown]),
  )
