import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { ValuesSpec } from '../../../core/packages/charts/values.ts'
import type { DriverConfiguration } from '../../../core/packages/ports.ts'
import type { HelmFlags } from '../../../core/packages/releases/ports.ts'
import type { ReleaseReadDeps } from '../../../core/packages/releases/release-reads.ts'
import { makeReleaseReads } from '../../../core/packages/releases/release-reads.ts'
import { makeRollbackRelease, rollbackReleaseKind } from '../../../core/packages/releases/rollbacks.ts'
import { makeDriverConfigurations } from '../../../core/packages/releases/storage-drivers.ts'
import { makeUninstallRelease, uninstallReleaseKind } from '../../../core/packages/releases/uninstalls.ts'
import { installReleaseKind, makeInstallRelease, makeUpgradeRelease, upgradeReleaseKind } from '../../../core/packages/releases/upgrades.ts'
import type { SubmittedTask, TaskKind } from '../../../core/tasks/ports.ts'
import type { BoundRoute } from '../../kit/route.ts'
import { handle, handleChange } from '../../kit/route.ts'
import { chartRefOf } from '../codecs.ts'
import type { PackagesGiven } from '../needs.ts'
import type { ConsoleConfig, InstallReleaseOptions, RollbackReleaseRequest, UpgradeReleaseOptions } from './codecs.ts'
import { toRelease, toReleaseRow, toReleaseState } from './codecs.ts'
import { definedFields } from '../../../core/kernel/fields.ts'
import {
  getDefaultDriver,
  getDriver,
  getReleaseContent,
  getReleaseHistory,
  getReleaseStatus,
  installRelease,
  listReleases,
  rollbackRelease,
  setDriver,
  uninstallRelease,
  upgradeRelease,
} from './releases.routes.ts'

/** The routes for lists, history, content and status of releases. */
export const releaseReadHandlers = (given: ReleaseReadDeps): readonly BoundRoute[] => {
  const reads = makeReleaseReads(given)
  return [
    handle(listReleases, async ({ call, grant, body: { full, ...options } }) => {
      const rows = await reads.list(call, grant, options, full === true)
      return isLeft(rows) ? rows : right(rows.right.map(toReleaseRow))
    }),
    handle(getReleaseHistory, async ({ call, grant, params: { name }, query: { max, namespace, full } }) => {
      const rows = await reads.history(call, grant, { name, namespace }, { max, isFull: full })
      return isLeft(rows) ? rows : right(rows.right.map(toReleaseRow))
    }),
    handle(getReleaseContent, async ({ call, grant, params: { name }, query: { namespace, version } }) => {
      const release = await reads.content(call, grant, { name, namespace }, version)
      return isLeft(release) ? release : right(toRelease(release.right))
    }),
    handle(getReleaseStatus, async ({ call, grant, params: { name }, query: { namespace, version } }) => {
      const release = await reads.content(call, grant, { name, namespace }, version)
      return isLeft(release) ? release : right(toReleaseState(release.right))
    }),
  ]
}

const valuesOf = (options: InstallReleaseOptions | UpgradeReleaseOptions): ValuesSpec =>
  definedFields({
    replaceValues: options.replaceValues,
    valuesFile: options.valuesFile,
    valuesPatch: options.valuesPatch,
    valueTexts: options.valueBytes,
    values: options.values,
    stringValues: options.stringValues,
    kvPairs: options.kv_pairs,
  })

const sharedFlags = (options: InstallReleaseOptions | UpgradeReleaseOptions) => ({
  createNamespace: options.createNamespace,
  disableHooks: options.disableHooks,
  wait: options.wait,
  timeoutSeconds: options.timeout,
  atomic: options.atomic,
  description: options.description,
  devel: options.devel,
  subNotes: options.subNotes,
  skipCrds: options.skipCRDs,
  disableOpenApiValidation: options.disableOpenAPIValidation,
  takeOwnership: options.takeOwnership,
})

const installFlags = (options: InstallReleaseOptions): HelmFlags =>
  definedFields({
    ...sharedFlags(options),
    replace: options.replace,
    includeCrds: options.includeCRDs,
    dryRun: options.clientOnly === true ? ('client' as const) : options.dryRun === true ? ('server' as const) : undefined,
  })

const upgradeFlags = (options: UpgradeReleaseOptions): HelmFlags =>
  definedFields({
    ...sharedFlags(options),
    install: options.install,
    cleanupOnFail: options.cleanupOnFail,
    force: options.force,
    recreate: options.recreate,
    resetValues: options.resetValues,
    reuseValues: options.reuseValues,
    resetThenReuseValues: options.resetThenReuseValues,
    maxHistory: options.maxHistory,
    dryRun: options.dryRun === true ? ('server' as const) : undefined,
  })

const rollbackFlags = (options: RollbackReleaseRequest) =>
  definedFields({
    disableHooks: options.disable_hooks,
    recreate: options.recreate,
    wait: options.wait,
    force: options.force,
    cleanupOnFail: options.cleanup_on_fail,
    timeoutSeconds: options.timeout,
    dryRun: options.dry_run === true ? ('server' as const) : undefined,
  })

/** Returns the task, which has the form of `TaskResponse`. */
export const taskWire = (task: SubmittedTask): SubmittedTask => task

/** The routes for install, upgrade, uninstall and rollback. Each returns the task that does the work. */
export const releaseTaskHandlers = (given: PackagesGiven): readonly BoundRoute[] => {
  const install = makeInstallRelease(given)
  const upgrade = makeUpgradeRelease(given)
  const uninstall = makeUninstallRelease(given)
  const rollback = makeRollbackRelease(given)
  return [
    handleChange(installRelease, taskWire, ({ call, grant, query, body }) =>
      install(call, grant, {
        release: { name: body.releaseName, namespace: body.namespace || 'default' },
        chart: chartRefOf(body),
        values: valuesOf(body),
        flags: installFlags(body),
        ...definedFields({ partOf: body.partOf }),
        responseId: query['response-id'],
      }),
    ),
    handleChange(upgradeRelease, taskWire, ({ call, grant, params, query, body }) =>
      upgrade(call, grant, {
        name: params.name,
        namespace: body.namespace,
        chart: chartRefOf(body),
        values: valuesOf(body),
        flags: upgradeFlags(body),
        ...definedFields({ partOf: body.partOf }),
        responseId: query['response-id'],
      }),
    ),
    handleChange(uninstallRelease, taskWire, ({ call, grant, params, query, body }) =>
      uninstall(call, grant, {
        name: params.name,
        namespace: body.namespace,
        flags: definedFields({ disableHooks: body.disable_hooks, timeoutSeconds: body.timeout, keepHistory: body.purge === false ? true : undefined }),
        responseId: query['response-id'],
      }),
    ),
    handleChange(rollbackRelease, taskWire, ({ call, grant, params, query, body }) =>
      rollback(call, grant, {
        name: params.name,
        namespace: body.namespace,
        revision: body.version ?? 0,
        flags: rollbackFlags(body),
        ...definedFields({ description: body.description }),
        responseId: query['response-id'],
      }),
    ),
  ]
}

/** The kinds of tasks of these routes. */
export const releaseTaskKinds = (given: PackagesGiven): readonly TaskKind[] =>
  [installReleaseKind, upgradeReleaseKind, rollbackReleaseKind, uninstallReleaseKind].map((kind) => kind(given))

/** The wire type of the setting that holds the driver of the package manager. */
const driverSetting = 1

const toConsoleConfig = (configuration: DriverConfiguration): ConsoleConfig => ({
  id: configuration.id,
  userID: configuration.userId,
  clusterID: configuration.clusterUid,
  type: driverSetting,
  data: { driver: { pkg3: { driverName: configuration.driver } } },
  createdUnix: Math.floor(configuration.createdAt.getTime() / 1000),
  updatedUnix: Math.floor(configuration.updatedAt.getTime() / 1000),
})

/** The routes for the driver that stores the releases of a cluster. */
export const driverHandlers = (given: Parameters<typeof makeDriverConfigurations>[0]): readonly BoundRoute[] => {
  const configurations = makeDriverConfigurations(given)
  return [
    handle(getDriver, async ({ grant }) => {
      const found = await configurations.show(grant)
      return isLeft(found) ? found : right(toConsoleConfig(found.right))
    }),
    handleChange(setDriver, toConsoleConfig, ({ call, grant, body }) =>
      configurations.set(call, grant, (body.driver ?? body.data?.driver)?.pkg3?.driverName ?? ''),
    ),
    handle(getDefaultDriver, async ({ grant }) => {
      const found = await configurations.usual(grant)
      return isLeft(found) ? found : right(toConsoleConfig(found.right))
    }),
  ]
}
