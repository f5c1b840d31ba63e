import { startControlPlane } from './control-plane.ts'
import { findChromium } from './chromium.ts'
import { findGo, goBuilt } from './go-build.ts'
import { findKubectl } from './kubectl.ts'
import { findHelm } from './helm.ts'
import { chosenProduct, startDatabaseServer } from './database-server.ts'
import { findNatsServer } from './nats-binary.ts'
import { findPromtool } from './promtool.ts'
import { findSlapd } from './slapd.ts'
import { findNginx } from './nginx.ts'
import { componentNames, environmentNames, isSwitchedOff, type ComponentName } from './names.ts'
import { withProgress, type Say } from './progress.ts'

export interface StartedComponents {
  /** What test files find them by. */
  readonly environment: Readonly<Record<string, string>>
  stop(): Promise<void>
}

interface Started {
  readonly environment: Readonly<Record<string, string>>
  stop?(): Promise<void>
}

const starters: Readonly<Record<ComponentName, (say: Say, environment: NodeJS.ProcessEnv) => Promise<Started>>> = {
  mariadb: async (say, environment) => {
    // A server that somebody has running.
    const own = process.env[environmentNames.mariaDbUrl]
    if (own !== undefined) return { environment: { [environmentNames.mariaDbUrl]: own } }
    const server = await startDatabaseServer(say, { product: chosenProduct(environment) })
    return { environment: { [environmentNames.mariaDbUrl]: server.url('') }, stop: () => server.stop() }
  },
  kubernetes: async (say) => {
    const server = await startControlPlane(say)
    return { environment: { [environmentNames.kubeconfig]: server.adminKubeconfigPath }, stop: () => server.stop() }
  },
  // The first test file that asks for it starts it beside the other, for the whole run.
  'spoke-kubernetes': async () => ({ environment: {} }),
  // Each test file starts a kubelet of its own; here it only has to be there.
  kubelet: async (say) => {
    await goBuilt('stub-kubelet', say)
    return { environment: {} }
  },
  kubectl: async (say) => ({ environment: { [environmentNames.kubectl]: await findKubectl(say) } }),
  helm: async (say) => {
    const { helm3, helm4 } = await findHelm(say)
    return { environment: { [environmentNames.helm3]: helm3, [environmentNames.helm4]: helm4 } }
  },
  chromium: async (say) => ({ environment: { [environmentNames.chromium]: await findChromium(say) } }),
  promtool: async (say) => ({ environment: { [environmentNames.promtool]: await findPromtool(say) } }),
  nginx: async (say) => ({ environment: { [environmentNames.nginx]: await findNginx(say) } }),
  go: async () => ({ environment: { [environmentNames.go]: findGo() } }),
  // Only slow files use them, which take what they need.
  'mysql-8': async () => ({ environment: {} }),
  'mysql-9': async () => ({ environment: {} }),
  generators: async () => ({ environment: {} }),
  vtexplain: async () => ({ environment: {} }),
  containers: async () => ({ environment: {} }),
  'last-release': async () => ({ environment: {} }),
  apache: async () => ({ environment: {} }),
  haproxy: async () => ({ environment: {} }),
  keycloak: async () => ({ environment: {} }),
  samba: async () => ({ environment: {} }),
  // Each test file starts a directory of its own.
  slapd: async (say) => {
    await findSlapd(say)
    return { environment: {} }
  },
  systemd: async () => ({ environment: {} }),
  // Each test file starts servers of its own: their configuration carries the keys of one database.
  nats: async (say) => ({ environment: { [environmentNames.nats]: await findNatsServer(say) } }),
}

/** Starts every component of `names` that `environment` does not switch off; all of them, or none. */
export async function startComponents(
  say: Say,
  environment: NodeJS.ProcessEnv,
  names: readonly ComponentName[] = componentNames,
): Promise<StartedComponents> {
  const started: Started[] = []
  const stop = async () => {
    for (const each of started.splice(0).toReversed()) await each.stop?.()
  }
  for (const name of names.filter((each) => !isSwitchedOff(each, environment))) {
    try {
      started.push(await withProgress(say, name, () => starters[name](say, environment)))
    } catch (cause) {
      await stop()
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new Error(
        `The component ${name} cannot be had: ${reason}\nTo run the other tests without it: npm test -- --without ${name}`,
        { cause },
      )
    }
  }
  return { environment: Object.assign({}, ...started.map((each) => each.environment)) as Record<string, string>, stop }
}
