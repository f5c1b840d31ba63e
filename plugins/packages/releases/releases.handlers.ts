import type * as t from 'io-ts'
import type { ValuesSpec } from '../../../core/packages/charts/values.ts'
import { ChartSourcePort, ChartTextsPort, ChartToolsPort } from '../../../core/packages/charts/ports.ts'
import { ClusterTasksPort } from '../../../core/cluster-tasks/ports.ts'
import { ClusterStorePort, MemberClustersPort } from '../../../core/clusters/ports.ts'
import { ClockPort, PausePort, unixSeconds } from '../../../core/kernel/clock.ts'
import { definedFields } from '../../../core/kernel/json.ts'
import type { ClusterId } from '../../../core/kernel/ids.ts'
import type { DriverConfiguration } from '../../../core/packages/ports.ts'
import {
  DriverConfigurationStorePort,
  DriverUnitOfWorkPort,
  JsonPatchesPort,
  NamePatternsPort,
  ReleaseStorePort,
  StorageDriverOfPort,
} from '../../../core/packages/ports.ts'
import type { HelmFlags } from '../../../core/packages/releases/ports.ts'
import { HelmRunnerPort, RecordSizesPort, TextDiffPort } from '../../../core/packages/releases/ports.ts'
import { makeReleaseReads } from '../../../core/packages/releases/release-reads.ts'
import { makeRollbackRelease, rollbackReleaseKind } from '../../../core/packages/releases/rollbacks.ts'
import { makeGetDefaultDriver, makeGetDriver, makeSetDriver } from '../../../core/packages/releases/storage-drivers.ts'
import { makeUninstallRelease, uninstallReleaseKind } from '../../../core/packages/releases/uninstalls.ts'
import {
  installReleaseKind,
  makeInstallRelease,
  makeUpgradeRelease,
  upgradeReleaseKind,
} from '../../../core/packages/releases/upgrades.ts'
import { objectIdOf } from '../../kit/access.ts'
import { defineGroup } from '../../kit/group.ts'
import { handle } from '../../kit/handle.ts'
import { chartRefOf } from '../codecs.ts'
import type {
  ConsoleConfig,
  InstallReleaseOptions,
  RollbackReleaseRequest,
  TillerOptions,
  UpgradeReleaseOptions,
} from './codecs.ts'
import { toRelease, toReleaseRow, toReleaseState } from './codecs.ts'
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
export const releaseReadGroup = defineGroup({
  needs: {
    driverOf: StorageDriverOfPort,
    memberClusters: MemberClustersPort,
    patterns: NamePatternsPort,
    releases: ReleaseStorePort,
  },
  routes: (given) => {
    const reads = makeReleaseReads(given)
    return [
      handle(listReleases, reads.list, {
        input: ({ grant, body: { full, ...options } }) => ({ grant, options, isFull: full === true }),
        reply: (rows) => rows.map(toReleaseRow),
      }),
      handle(getReleaseHistory, reads.history, {
        input: ({ grant, params: { name }, query: { max, namespace, full } }) => ({
          grant,
          release: { name, namespace },
          max,
          isFull: full === true,
        }),
        reply: (rows) => rows.map(toReleaseRow),
      }),
      handle(getReleaseContent, reads.content, {
        input: ({ grant, params: { name }, query: { namespace, version } }) => ({
          grant,
          release: { name, namespace },
          version,
        }),
        reply: toRelease,
      }),
      handle(getReleaseStatus, reads.content, {
        input: ({ grant, params: { name }, query: { namespace, version } }) => ({
          grant,
          release: { name, namespace },
          version,
        }),
        reply: toReleaseState,
      }),
    ]
  },
})

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
    dryRun:
      options.clientOnly === true ? ('client' as const) : options.dryRun === true ? ('server' as const) : undefined,
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

/** The routes for install, upgrade, uninstall and rollback, and the tasks that do the work. */
export const releaseTaskGroup = defineGroup({
  needs: {
    chartSource: ChartSourcePort,
    chartTexts: ChartTextsPort,
    chartTools: ChartToolsPort,
    clock: ClockPort,
    clusterTasks: ClusterTasksPort,
    driverOf: StorageDriverOfPort,
    helm: HelmRunnerPort,
    memberClusters: MemberClustersPort,
    patches: JsonPatchesPort,
    pause: PausePort,
    recordSizes: RecordSizesPort,
    releases: ReleaseStorePort,
    textDiff: TextDiffPort,
  },
  routes: (given) => [
    handle(installRelease, makeInstallRelease(given), {
      input: ({ grant, query, body }) => ({
        grant,
        release: { name: body.releaseName, namespace: body.namespace || 'default' },
        chart: chartRefOf(body),
        values: valuesOf(body),
        flags: installFlags(body),
        ...definedFields({ partOf: body.partOf }),
        responseId: query['response-id'],
      }),
    }),
    handle(upgradeRelease, makeUpgradeRelease(given), {
      input: ({ grant, params, query, body }) => ({
        grant,
        name: params.name,
        namespace: body.namespace,
        chart: chartRefOf(body),
        values: valuesOf(body),
        flags: upgradeFlags(body),
        ...definedFields({ partOf: body.partOf }),
        responseId: query['response-id'],
      }),
    }),
    handle(uninstallRelease, makeUninstallRelease(given), {
      input: ({ grant, params, query, body }) => ({
        grant,
        name: params.name,
        namespace: body.namespace,
        flags: definedFields({
          disableHooks: body.disable_hooks,
          timeoutSeconds: body.timeout,
          keepHistory: body.purge === false ? true : undefined,
        }),
        responseId: query['response-id'],
      }),
    }),
    handle(rollbackRelease, makeRollbackRelease(given), {
      input: ({ grant, params, query, body }) => ({
        grant,
        name: params.name,
        namespace: body.namespace,
        revision: body.version ?? 0,
        flags: rollbackFlags(body),
        ...definedFields({ description: body.description }),
        responseId: query['response-id'],
      }),
    }),
  ],
  tasks: (given) => [
    installReleaseKind(given),
    upgradeReleaseKind(given),
    rollbackReleaseKind(given),
    uninstallReleaseKind(given),
  ],
})

/** The wire type of the setting that holds the driver of the package manager. */
const driverSetting = 1

const toConsoleConfig = (configuration: DriverConfiguration): ConsoleConfig => ({
  id: configuration.id,
  userID: configuration.userId,
  clusterID: configuration.clusterUid,
  type: driverSetting,
  data: { driver: { pkg3: { driverName: configuration.driver } } },
  createdUnix: unixSeconds(configuration.createdAt),
  updatedUnix: unixSeconds(configuration.updatedAt),
})

/** Returns the driver that is named, as an object or by one key with points. */
const driverOf = ({ data, ...options }: t.TypeOf<typeof TillerOptions>): string =>
  [options, data]
    .flatMap((each) => [each?.driver?.pkg3?.driverName, each?.['driver.pkg3.driverName']])
    .find((name) => name !== undefined) ?? ''

/** The routes for the driver that stores the releases of a cluster. */
export const driverGroup = defineGroup({
  needs: {
    clock: ClockPort,
    clusterRecords: ClusterStorePort,
    drivers: DriverConfigurationStorePort,
    driverUnitOfWork: DriverUnitOfWorkPort,
  },
  routes: (given) => [
    handle(getDriver, makeGetDriver(given), {
      input: ({ grant }) => objectIdOf<ClusterId>(grant),
      reply: toConsoleConfig,
    }),
    handle(setDriver, makeSetDriver(given), {
      input: ({ grant, body }) => ({ id: objectIdOf<ClusterId>(grant), driver: driverOf(body) }),
      reply: toConsoleConfig,
    }),
    handle(getDefaultDriver, makeGetDefaultDriver(given), {
      input: ({ grant }) => objectIdOf<ClusterId>(grant),
      reply: toConsoleConfig,
    }),
  ],
})
