import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Failure, Outcome } from '../kernel/failure.ts'
import type { FreeObject } from '../kernel/json.ts'
import type { MemberCluster } from '../clusters/ports.ts'
import type { TaskEnd, TaskKind, TaskRun } from '../tasks/ports.ts'
import { makeApplyChart } from './apply-chart.ts'
import type { ApplyChartDeps } from './chart-application.ts'
import { makeRecoverReleaseTask } from './chart-task.ts'
import { applyEditorKindName, makeResolveModel, type ModelChange, type ResolveModelDeps } from './editor-apply.ts'
import { withoutDefaults } from './editor-chart.ts'
import { makeFillModel, type FilledModel } from './editor-preview.ts'
import type { HelmFlags } from './helm-ports.ts'
import type { OpenTaskCluster, TaskCluster } from './task-cluster.ts'
import { failedBefore } from './task-ends.ts'
import { whileAllowed } from './while-allowed.ts'

export interface ApplyEditorTaskDeps extends ApplyChartDeps, ResolveModelDeps {
  readonly openTaskCluster: OpenTaskCluster
}

interface ApplyInput extends ModelChange {
  readonly flags: HelmFlags
}

/** Only a namespace that is known to be missing is created: to try takes a right that hardly anybody has. */
const lacksNamespace = async (cluster: MemberCluster, namespace: string, signal: AbortSignal): Promise<boolean> => {
  const answer = await cluster.request({ method: 'GET', target: `/api/v1/namespaces/${encodeURIComponent(namespace)}` }, signal)
  return !isLeft(answer) && answer.right.status === 404
}

const makePrepare = (deps: ApplyEditorTaskDeps) => {
  const resolve = makeResolveModel(deps)
  const fill = makeFillModel(deps)
  return async (run: TaskRun, cluster: MemberCluster, input: ApplyInput): Outcome<Failure, FilledModel> => {
    const step = run.progress.step('Prepare the model')
    const model = await resolve(cluster, input, run.signal)
    const filled = isLeft(model) ? model : await fill(cluster, model.right, run.signal)
    if (isLeft(filled)) {
      step.failed('The model could not be prepared.')
      return filled
    }
    const { opened, chart } = filled.right
    const keys = Object.keys(filled.right.values.resources as FreeObject)
    step.say(`${opened.editor.origin === 'cluster' ? "The cluster's editor" : 'The built-in editor'} with the chart ${chart.chart.name} ${chart.chart.version}; resources: ${keys.join(', ') || 'none'}`, { data: { resources: keys } })
    step.done()
    return right(filled.right)
  }
}

/** Installs or upgrades what a model says, with nothing but the model as values of the editor's chart. */
export const applyEditorKind = (deps: ApplyEditorTaskDeps): TaskKind => {
  const prepare = makePrepare(deps)
  const applyChart = makeApplyChart(deps)
  const work = async (run: TaskRun, { cluster }: TaskCluster): Promise<TaskEnd> => {
    const input = run.input as unknown as ApplyInput
    const prepared = await prepare(run, cluster, input)
    if (isLeft(prepared)) return failedBefore(run, prepared.left)
    const { values, chart, opened: editor } = prepared.right
    const { release } = editor.subject
    const createNamespace = await lacksNamespace(cluster, release.namespace, run.signal)
    return applyChart(run, {
      cluster,
      driver: await deps.driverOf(cluster),
      tenantId: cluster.ownerId,
      release,
      verb: 'upgrade',
      chart: withoutDefaults(chart.chart),
      values,
      flags: { ...input.flags, ...(createNamespace ? { createNamespace } : {}) },
    })
  }
  return {
    kind: applyEditorKindName,
    run: (asked) => whileAllowed(deps, asked, work),
    recover: makeRecoverReleaseTask(deps, 'upgrade'),
  }
}
