import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import type { Standing } from '../kernel/access.ts'
import type { Failure } from '../kernel/failure.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { accountMask, evaluate } from './evaluate.ts'
import type { RawIdentifier } from './object-identifier.ts'
import { parseObjectIdentifiers } from './object-identifier.ts'
import type { AuthorizationFacts } from './ports.ts'
import type { AuthorizationSchema } from './schema.ts'
import { relationNames } from './schema.ts'
import { subjectOf } from './subject.ts'
import type { AllowedPermissions, ObjectId, ObjectIdentifier } from './types.ts'

export interface ListAllowedPermissionsInput {
  /** The caller's standing in the organization that the questions are asked within. */
  readonly standing: Standing
  readonly objects: readonly RawIdentifier[]
  /** Refusals of a batch name the element by its index. */
  readonly isBatch: boolean
}

export type ListAllowedPermissions = (
  call: SignedInCall,
  input: ListAllowedPermissionsInput,
) => Promise<Either<Failure<'ObjectIdentifierInvalid'>, readonly AllowedPermissions[]>>

/**
 * Which relations the caller holds on each object: one answer a question, in the order of the questions, repeats
 * answered each time, relations sorted. An object that does not exist, belongs to another account, or that the caller
 * holds nothing on answers with no relations, so nobody learns what exists. What the caller's token has no scope for
 * is left out. At most two queries for each type, however many objects. Failure: ObjectIdentifierInvalid, for the
 * whole batch.
 */
export const makeListAllowedPermissions =
  (deps: { readonly schema: AuthorizationSchema; readonly facts: AuthorizationFacts }): ListAllowedPermissions =>
  async ({ principal }, { standing, objects, isBatch }) => {
    const where = (index: number): string => (isBatch ? `element ${index}: ` : '')
    const questions = parseObjectIdentifiers(deps.schema, principal.userId, objects, where)
    if (isLeft(questions)) return questions

    const subject = subjectOf(principal, standing)
    const answers = new Map<string, ReadonlyMap<ObjectId, readonly string[]>>()
    for (const [name, ids] of idsByType(questions.right)) {
      const type = deps.schema.types.get(name)
      if (type === undefined || type.every === 0n) continue
      const usable = type.withinScope(principal.scopes)
      const fromAccount = accountMask(type, subject)
      const found = await deps.facts.objectsOf(principal.userId, standing, name, ids)
      answers.set(
        name,
        new Map(found.map((object) => [object.id, relationNames(type, evaluate(type, subject, object, fromAccount) & usable)])),
      )
    }
    return right(questions.right.map((question) => ({ ...question, relations: answers.get(question.type)?.get(question.id) ?? [] })))
  }

const idsByType = (questions: readonly ObjectIdentifier[]): ReadonlyMap<string, readonly ObjectId[]> => {
  const groups = new Map<string, Set<ObjectId>>()
  for (const { type, id } of questions) {
    const ids = groups.get(type) ?? new Set()
    groups.set(type, ids.add(id))
  }
  return new Map([...groups].map(([type, ids]) => [type, [...ids]]))
}
