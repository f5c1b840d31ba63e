import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Hub } from '../clusters/hubs/ports.ts'
import { distribution } from '../clusters/hubs/vendor-types.ts'
import type { Failure, Outcome } from '../kernel/failure.ts'
import { textAt } from '../kernel/json.ts'
import type { TaskStep } from '../tasks/ports.ts'
import { addOnDefinitionKind, addOnKind } from './kinds.ts'
import { SpokeStuck } from './spoke-steps.ts'

/** What the request for an import asks for beside the membership in the hub. */
export interface SpokeComponents {
  readonly gitOpsEngine: boolean
  /** What else the request asks for, as it names it. */
  readonly omitted: readonly string[]
}

const addGitOpsEngine = async (hub: Hub, spoke: string, step: TaskStep): Outcome<Failure, string> => {
  const name = distribution.gitOpsAddOn
  const found = await hub.get(addOnDefinitionKind, { name })
  if (isLeft(found) && found.left.tag !== 'NotAHub') return found
  const definition = isLeft(found) ? undefined : found.right
  if (definition === undefined) {
    step.say(`The hub has no add-on ${name}, which installs the GitOps engine.`, { level: 'warning' })
    return right('The GitOps engine is not installed.')
  }
  if (textAt(definition.body, 'spec', 'installStrategy', 'type') === 'Placements') return right(`The hub itself places the add-on ${name}.`)
  const created = await hub.create(addOnKind, { namespace: spoke, name }, { spec: {} })
  if (isLeft(created)) return created
  return created.right === 'unplaced' ? left(SpokeStuck(`The namespace ${spoke} of the hub does not exist, or is being deleted.`)) : right(`The spoke has the add-on ${name}.`)
}

/** Adds what the request asks for, and says which of it is left to other requests. */
export const addComponents = async (hub: Hub, spoke: string, { gitOpsEngine, omitted }: SpokeComponents, step: TaskStep): Outcome<Failure, string> => {
  const names = omitted.map((name) => `components.${name}`).join(', ')
  if (names !== '') step.say(`An import does not act on ${names}. Features are installed on the cluster set, by install-featureset.`, { level: 'warning' })
  return gitOpsEngine ? addGitOpsEngine(hub, spoke, step) : right('No add-on was asked for.')
}
