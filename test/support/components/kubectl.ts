import { goBuilt, isGoBuilt } from './go-build.ts'
import { fromKubectlLayer, kubectlLayer34 } from './kubectl-layer.ts'
import { envtestBinary } from './kubernetes-binaries.ts'
import { sayOnStderr, type Say } from './progress.ts'
import { findExecutable, runCommand } from './run-command.ts'

/** From here on kubectl speaks WebSocket for exec, attach and port-forward, as today's users do. */
const oldestMinor = 31

/**
 * A kubectl that is new enough: as envtest users set it, on PATH, from the cache, from an npm
 * package, else built with Go. Fails with every reason when there is none.
 */
export async function findKubectl(say: Say = sayOnStderr): Promise<string> {
  const reasons: string[] = []
  const build = () => goBuilt('kubectl', say)
  const ways = [
    () => Promise.resolve(envtestBinary('kubectl')),
    () => Promise.resolve(findExecutable('kubectl')),
    ...((await isGoBuilt('kubectl')) ? [build] : []),
    () => fromKubectlLayer(kubectlLayer34, 'kubectl', say),
    build,
  ]
  for (const way of ways) {
    const path = await way().catch((cause: unknown) => {
      reasons.push(cause instanceof Error ? cause.message : String(cause))
      return undefined
    })
    if (path === undefined) continue
    const objection = await objectionTo(path)
    if (objection === undefined) return path
    reasons.push(objection)
  }
  throw new Error(`no kubectl of 1.${oldestMinor} or newer:\n  ${reasons.join('\n  ')}`)
}

async function objectionTo(path: string): Promise<string | undefined> {
  const result = await runCommand(path, ['version', '--client', '-o', 'json'], { timeoutMilliseconds: 30_000 })
  if (result.status !== 0) return `${path} does not run: ${result.stderr.trim()}`
  // A suffix marks a wrapper or a fork, which may choose another kubectl by the server's version.
  const version = /"gitVersion":\s*"v(\d+)\.(\d+)\.\d+"/.exec(result.stdout)
  if (version === null) return `${path} is not a released kubectl: ${result.stdout.trim().slice(0, 200)}`
  const isNewEnough = Number(version[1]) > 1 || Number(version[2]) >= oldestMinor
  return isNewEnough ? undefined : `${path} is ${version[1]}.${version[2]}, older than 1.${oldestMinor}`
}
