import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { AccessContext } from '../kernel/access.ts'
import { getOrMake } from '../kernel/cache.ts'
import type { Failure } from '../kernel/failure.ts'
import { defineFailure } from '../kernel/failure.ts'
import type { UserId } from '../kernel/ids.ts'
import type { SignedInCall } from '../kernel/principal.ts'
import { subjectOf } from '../kernel/rights.ts'
import { accountMask, evaluate } from './evaluate.ts'
import type { AuthorizationFacts } from './ports.ts'
import type { AuthorizationSchema } from './schema.ts'
import { relationNames } from './schema.ts'
import type { AllowedPermissions, ObjectId, ObjectIdentifier } from './types.ts'

/**
 * An object type that is not listed, an id that is not an integer of 1..2^63-1, or another user's id for type `user`.
 */
export const ObjectIdentifierInvalid = defineFailure(
  'ObjectIdentifierInvalid',
  'Invalid',
  'An element names an unknown object type, or an id that is not valid for its type.',
)

/** A question as received. Both keys are present; their values are unchecked. */
export interface RawIdentifier {
  readonly objectType: unknown
  readonly objectID: unknown
}

const maxId = 2n ** 63n - 1n

const isObjectId = (value: unknown): value is number | bigint =>
  (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) ||
  (typeof value === 'bigint' && value >= 1n && value <= maxId)

/**
 * Parses the questions. If one is invalid, all are refused; `where` returns the prefix of the message, given the
 * question's 0-based index.
 * Failure: ObjectIdentifierInvalid.
 *
 * @internal
 */
export const parseObjectIdentifiers = (
  schema: AuthorizationSchema,
  userId: UserId,
  raws: readonly RawIdentifier[],
  where: (index: number) => string,
): Either<Failure<'ObjectIdentifierInvalid'>, readonly ObjectIdentifier[]> => {
  const questions: ObjectIdentifier[] = []
  for (const [index, { objectType: type, objectID: id }] of raws.entries()) {
    if (typeof type !== 'string' || !schema.listedTypes.includes(type)) {
      return refused(where(index), `invalid object type, expected one of ${schema.listedTypes.join(', ')}`)
    }
    if (!isObjectId(id)) return refused(where(index), 'invalid object id, expected an integer from 1')
    if (type === 'user' && Number(id) !== userId) {
      return refused(where(index), 'invalid object id, for the type user it must be your own id')
    }
    questions.push({ type, id })
  }
  return right(questions)
}

const refused = (where: string, problem: string) => left(ObjectIdentifierInvalid(where + problem))

export interface ListAllowedPermissionsInput {
  /** The caller's context in the organization of the questions. */
  readonly context: AccessContext
  readonly objects: readonly RawIdentifier[]
  /** Refusals of a batch name the element by its index. */
  readonly isBatch: boolean
}

export type ListAllowedPermissions = (
  call: SignedInCall<never>,
  input: ListAllowedPermissionsInput,
) => Promise<Either<Failure<'ObjectIdentifierInvalid'>, readonly AllowedPermissions[]>>

/**
 * Returns the relations that the caller holds on each object: one answer per question, in the order of the questions,
 * with duplicates answered each time and relations sorted. An object that does not exist, belongs to another account,
 * or on which the caller holds nothing has no relations, so the answer does not disclose what exists. Relations outside
 * the token's scope are omitted. Takes at most two queries per type, regardless of the number of objects.
 * Failure: ObjectIdentifierInvalid, for the whole batch.
 */
export const makeListAllowedPermissions =
  (deps: { readonly schema: AuthorizationSchema; readonly facts: AuthorizationFacts }): ListAllowedPermissions =>
  async ({ principal }, { context, objects, isBatch }) => {
    const where = (index: number): string => (isBatch ? `element ${index}: ` : '')
    const questions = parseObjectIdentifiers(deps.schema, principal.userId, objects, where)
    if (isLeft(questions)) return questions

    const subject = subjectOf(principal, context)
    const answers = new Map<string, ReadonlyMap<ObjectId, readonly string[]>>()
    for (const [name, ids] of idsByType(questions.right)) {
      const type = deps.schema.types.get(name)
      if (type === undefined || type.every === 0n) continue
      const usable = type.withinScope(principal.scopes)
      const fromAccount = accountMask(type, subject)
      const found = await deps.facts.objectsOf(principal.userId, context, name, ids)
      answers.set(
        name,
        new Map(
          found.map((object) => [
            object.id,
            relationNames(type, evaluate(type, subject, object, fromAccount) & usable),
          ]),
        ),
      )
    }
    return right(
      questions.right.map((question) => ({
        ...question,
        relations: answers.get(question.type)?.get(question.id) ?? [],
      })),
    )
  }

const idsByType = (questions: readonly ObjectIdentifier[]): ReadonlyMap<string, readonly ObjectId[]> => {
  const groups = new Map<string, Set<ObjectId>>()
  for (const { type, id } of questions) getOrMake(groups, type, () => new Set()).add(id)
  return new Map([...groups].map(([type, ids]) => [type, [...ids]]))
}
