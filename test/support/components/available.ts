import { connectControlPlane, type ControlPlaneAccess } from './control-plane-access.ts'
import { startControlPlane } from './control-plane.ts'
import { findChromium } from './chromium.ts'
import { findGo } from './go-build.ts'
import { spokeControlPlane } from './spoke-control-plane.ts'
import { findHelm, type HelmCommands } from './helm.ts'
import { findKubectl } from './kubectl.ts'
import { connectToServer, startDatabaseServer, type DatabaseAccess } from './database-server.ts'
import { findNatsServer } from './nats-binary.ts'
import { findPromtool } from './promtool.ts'
import { findNginx } from './nginx.ts'
import { findStatementPlanner } from './vtexplain.ts'
import { environmentNames, isSwitchedOff, type ComponentName } from './names.ts'

const asked = new Map<ComponentName, Promise<unknown>>()

/**
 * The shared MariaDB server, or `undefined` when the run was started `--without mariadb`. With `--mysql`, it is MySQL.
 * Under `npm test` the runner has started it; a file that is run alone starts one of its own.
 * Take a database of your own from `createDatabase()`; never stop or restart this server
 * (a test that does so uses `startDatabaseServer`).
 */
export function databaseServer(): Promise<DatabaseAccess | undefined> {
  return once('mariadb', async () => {
    const url = process.env[environmentNames.mariaDbUrl]
    return url === undefined ? startDatabaseServer() : connectToServer(url)
  })
}

/**
 * The shared kube-apiserver, or `undefined` when switched off. Namespaces are never finished
 * (no controllers run): use `createNamespace()`, which never gives the same name twice.
 */
export function kubernetes(): Promise<ControlPlaneAccess | undefined> {
  return once('kubernetes', async () => {
    const kubeconfig = process.env[environmentNames.kubeconfig]
    return kubeconfig === undefined ? startControlPlane() : connectControlPlane(kubeconfig)
  })
}

/**
 * A second kube-apiserver, for the spokes of a hub and for one hub with fixed names, or `undefined` when switched off.
 * It starts when a test file first asks for it, and is shared by the files of the run.
 */
export function spokeKubernetes(): Promise<ControlPlaneAccess | undefined> {
  return once('spoke-kubernetes', async () => spokeControlPlane((await kubernetes())!))
}

/** The path of a kubectl that fits the shared kube-apiserver, or `undefined` when switched off. */
export function kubectl(): Promise<string | undefined> {
  return once('kubectl', async () => process.env[environmentNames.kubectl] ?? findKubectl())
}

/** The paths of helm 3 and helm 4, or `undefined` when switched off. */
export function helm(): Promise<HelmCommands | undefined> {
  const { [environmentNames.helm3]: helm3, [environmentNames.helm4]: helm4 } = process.env
  return once('helm', async () => (helm3 === undefined || helm4 === undefined ? findHelm() : { helm3, helm4 }))
}

/** The path of the nginx command, or `undefined` when switched off. */
export function nginx(): Promise<string | undefined> {
  return once('nginx', async () => process.env[environmentNames.nginx] ?? findNginx())
}

/** The path of the nats-server command, or `undefined` when switched off. */
export function natsServer(): Promise<string | undefined> {
  return once('nats', async () => process.env[environmentNames.nats] ?? findNatsServer())
}

/** The path of the go command, or `undefined` when switched off. */
export function go(): Promise<string | undefined> {
  return once('go', async () => process.env[environmentNames.go] ?? findGo())
}

/** The path of the planner of statements of Vitess, or `undefined` when switched off. */
export function statementPlanner(): Promise<string | undefined> {
  return once('vtexplain', async () => findStatementPlanner())
}

/** The path of Chromium, or `undefined` when switched off. */
export function chromium(): Promise<string | undefined> {
  return once('chromium', async () => findChromium())
}

/** The path of promtool, or `undefined` when switched off. */
export function promtool(): Promise<string | undefined> {
  return once('promtool', async () => process.env[environmentNames.promtool] ?? findPromtool())
}

function once<T>(name: ComponentName, start: () => Promise<T>): Promise<T | undefined> {
  if (isSwitchedOff(name)) return Promise.resolve(undefined)
  const known = asked.get(name) as Promise<T> | undefined
  if (known !== undefined) return known
  const started = start()
  asked.set(name, started)
  return started
}
