import type { ValuesSpec } from '../../core/packages/compose-values.ts'
import type { HelmFlags } from '../../core/packages/helm-ports.ts'
import { installReleaseKind, makeInstallRelease } from '../../core/packages/install-release.ts'
import { makeRollbackRelease, rollbackReleaseKind } from '../../core/packages/rollback-release.ts'
import { makeOpenTaskCluster } from '../../core/packages/task-cluster.ts'
import { makeUninstallRelease, uninstallReleaseKind } from '../../core/packages/uninstall-release.ts'
import { makeUpgradeRelease, upgradeReleaseKind } from '../../core/packages/upgrade-release.ts'
import type { SubmittedTask, TaskKind } from '../../core/tasks/ports.ts'
import type { BoundRoute } from '../kit/route.ts'
import { handleChange } from '../kit/route.ts'
import { chartRefOf } from './codecs.ts'
import type { PackagesGiven } from './needs.ts'
import type { InstallReleaseOptions, RollbackReleaseRequest, UpgradeReleaseOptions } from './release-task-codecs.ts'
import { installRelease, rollbackRelease, uninstallRelease, upgradeRelease } from './release-tasks.routes.ts'

type Given<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

/** Only what was said: an absent key and one that is undefined are not the same to an exact type. */
const said = <T extends object>(options: T): Given<T> =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>

const valuesOf = (options: InstallReleaseOptions | UpgradeReleaseOptions): ValuesSpec =>
  said({
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
  said({
    ...sharedFlags(options),
    replace: options.replace,
    includeCrds: options.includeCRDs,
    dryRun: options.clientOnly === true ? ('client' as const) : options.dryRun === true ? ('server' as const) : undefined,
  })

const upgradeFlags = (options: UpgradeReleaseOptions): HelmFlags =>
  said({
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
  said({
    disableHooks: options.disable_hooks,
    recreate: options.recreate,
    wait: options.wait,
    force: options.force,
    cleanupOnFail: options.cleanup_on_fail,
    timeoutSeconds: options.timeout,
    dryRun: options.dry_run === true ? ('server' as const) : undefined,
  })

/** The task as it is: what `TaskResponse` says. */
export const taskWire = (task: SubmittedTask): SubmittedTask => task

/** Install, upgrade, uninstall and rollback: each answers with the task that does it. */
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
        ...said({ partOf: body.partOf }),
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
        ...said({ partOf: body.partOf }),
        responseId: query['response-id'],
      }),
    ),
    handleChange(uninstallRelease, taskWire, ({ call, grant, params, query, body }) =>
      uninstall(call, grant, {
        name: params.name,
        namespace: body.namespace,
        flags: said({ disableHooks: body.disable_hooks, timeoutSeconds: body.timeout, keepHistory: body.purge === false ? true : undefined }),
        responseId: query['response-id'],
      }),
    ),
    handleChange(rollbackRelease, taskWire, ({ call, grant, params, query, body }) =>
      rollback(call, grant, {
        name: params.name,
        namespace: body.namespace,
        revision: body.version ?? 0,
        flags: rollbackFlags(body),
        ...said({ description: body.description }),
        responseId: query['response-id'],
      }),
    ),
  ]
}

/** The work behind these routes. */
export const releaseTaskKinds = (given: PackagesGiven): readonly TaskKind[] => {
  const deps = { ...given, openTaskCluster: makeOpenTaskCluster(given) }
  return [installReleaseKind(deps), upgradeReleaseKind(deps), rollbackReleaseKind(deps), uninstallReleaseKind(deps)]
}
