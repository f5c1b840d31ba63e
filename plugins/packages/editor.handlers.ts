import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { AccessGrant } from '../../core/kernel/access.ts'
import type { Outcome } from '../../core/kernel/failure.ts'
import type { FreeObject } from '../../core/kernel/json.ts'
import type { SignedInCall } from '../../core/kernel/principal.ts'
import { makeApplyModel } from '../../core/packages/editor-apply.ts'
import { applyEditorKind } from '../../core/packages/editor-apply-task.ts'
import { deleteEditorKind, makeDeleteEditor } from '../../core/packages/editor-delete.ts'
import { makeLoadModel, missingOf, type LoadedModel, type LoadModelFailure } from '../../core/packages/editor-load-model.ts'
import { documentsText, resourceFiles } from '../../core/packages/editor-output.ts'
import type { OpenFailure } from '../../core/packages/submit-release-task.ts'
import { makeOpenTaskCluster } from '../../core/packages/task-cluster.ts'
import type { TaskKind } from '../../core/tasks/ports.ts'
import { handle, handleChange, type BoundRoute } from '../kit/route.ts'
import { modelAnswer, printerOf, removalSubject, toModel } from './editor-wire.ts'
import { applyEditor, deleteEditor, loadEditorManifest, loadEditorModel, loadEditorResources } from './editor.routes.ts'
import type { PackagesGiven } from './needs.ts'
import { taskWire } from './release-tasks.handlers.ts'

/** Installations by editors: applied and removed by tasks, shown as they are in the cluster. */
export const editorHandlers = (given: PackagesGiven): readonly BoundRoute[] => {
  const apply = makeApplyModel(given)
  const remove = makeDeleteEditor(given)
  const load = makeLoadModel(given)
  const loadFor = async (call: SignedInCall, grant: AccessGrant, about: FreeObject): Outcome<OpenFailure | LoadModelFailure, LoadedModel> => {
    const cluster = await given.memberClusters.open(call, grant)
    return isLeft(cluster) ? cluster : load(cluster.right, toModel(about), call.signal)
  }
  return [
    handleChange(applyEditor, taskWire, ({ call, grant, body, query }) => {
      const { patch, ...model } = toModel(body)
      return apply(call, grant, {
        model,
        ...(patch === undefined || patch === null ? {} : { patch }),
        installCrds: query.installCRDs === true,
        wait: query.wait !== false,
        timeoutSeconds: query.timeout,
        responseId: query['response-id'],
      })
    }),
    handleChange(deleteEditor, taskWire, ({ call, grant, body, query }) => remove(call, grant, removalSubject(body), query['response-id'])),
    handle(loadEditorModel, async ({ call, grant, body, query }) => {
      const loaded = await loadFor(call, grant, body)
      return isLeft(loaded) ? loaded : right(await modelAnswer(loaded.right.model, query.format, given.chartTexts))
    }),
    handle(loadEditorManifest, async ({ call, grant, body }) => {
      const loaded = await loadFor(call, grant, body)
      return isLeft(loaded) ? loaded : right(await documentsText(loaded.right.objects, loaded.right.missing, given.chartTexts))
    }),
    handle(loadEditorResources, async ({ call, grant, body, query }) => {
      const loaded = await loadFor(call, grant, body)
      if (isLeft(loaded)) return loaded
      const { objects, missing, keyPrefix } = loaded.right
      const resources = await resourceFiles(objects, keyPrefix, printerOf(query.format, given.chartTexts))
      return right({ crds: [], resources, missing: missing.length === 0 ? undefined : missing.map((each) => missingOf(each, keyPrefix)) })
    }),
  ]
}

/** The work behind applying and removing. */
export const editorTaskKinds = (given: PackagesGiven): readonly TaskKind[] => {
  const deps = { ...given, openTaskCluster: makeOpenTaskCluster(given) }
  return [applyEditorKind(deps), deleteEditorKind(deps)]
}
