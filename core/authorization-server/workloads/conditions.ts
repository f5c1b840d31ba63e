import { isObject } from '../../kernel/json.ts'
import type { ClaimCondition, Claims } from './types.ts'

/**
 * Reports whether a text has the form of a value in which `*` stands for any characters. Takes linear time.
 *
 * @internal
 */
export const matches = (form: string, text: string): boolean => {
  const [first = '', ...others] = form.split('*')
  const last = others.pop()
  if (last === undefined) return form === text
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false
  let rest = text.slice(first.length, text.length - last.length)
  for (const piece of others) {
    const at = rest.indexOf(piece)
    if (at < 0) return false
    rest = rest.slice(at + piece.length)
  }
  return true
}

const unescaped = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~')

const claimAt = (claims: Claims, claim: string): unknown => {
  const steps = claim.startsWith('/') ? claim.slice(1).split('/').map(unescaped) : [claim]
  let found: unknown = claims
  for (const step of steps) found = isObject(found) && Object.hasOwn(found, step) ? found[step] : undefined
  return found
}

const textsOf = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap((each) => (Array.isArray(each) ? [] : textsOf(each)))
  if (typeof value === 'string') return [value]
  return typeof value === 'number' || typeof value === 'boolean' ? [String(value)] : []
}

/** Returns the first claim that does not meet its condition; undefined if all do. One value of a list is sufficient. */
export const unmetClaim = (claims: Claims, conditions: readonly ClaimCondition[]): string | undefined =>
  conditions.find(({ claim, value }) => !textsOf(claimAt(claims, claim)).some((text) => matches(value, text)))?.claim

/** Reports whether the claims meet all conditions. @internal */
export const meets = (claims: Claims, conditions: readonly ClaimCondition[]): boolean =>
  unmetClaim(claims, conditions) === undefined

/**
 * Claims that are names: another account can get the name after a deletion or a renaming. With each the claim that
 * never changes.
 */
const names: readonly (readonly [issuer: RegExp, named: RegExp, lasting: readonly string[]])[] = [
  [
    /^https:\/\/token\.actions\.githubusercontent\.com(?:\/|$)/,
    /^(?:sub|repository|repository_owner|job_workflow_ref|workflow_ref|actor)$/,
    ['repository_id', 'repository_owner_id'],
  ],
  [/gitlab/, /^(?:sub|namespace_path|project_path|ci_config_ref_uri|user_login)$/, ['project_id', 'namespace_id']],
]

/** Returns what an owner should know about conditions that hold now, and may hold for another account later. */
export const warningsOf = (issuer: string, conditions: readonly ClaimCondition[]): readonly string[] => {
  const used = conditions.map(({ claim }) => claim)
  const warnings = names.flatMap(([form, named, lasting]) => {
    if (!form.test(issuer) || used.some((claim) => lasting.includes(claim))) return []
    return used.some((claim) => named.test(claim))
      ? [`The conditions are about names, which another account can get later. Add ${lasting.join(' or ')}.`]
      : []
  })
  const open = conditions.filter(({ value }) => value.startsWith('*')).map(({ claim }) => claim)
  return open.length === 0 ? warnings : [...warnings, `Values of ${open.join(', ')} that begin with * match too much.`]
}
