import type { AuditEvent } from '../audit/types.ts'
import type { FreeObject } from '../kernel/json.ts'
import { definedFields, toWireJson } from '../kernel/json.ts'
import type { WebhookFormat } from './types.ts'

/** A type of events, and the action of the audit log that is one. */
export interface EventType {
  readonly type: string
  /** The type of its object in the audit log: an action such as `cluster.removed` exists for several. */
  readonly objectType: string
  readonly action: string
  readonly summary: string
}

/** The event of a test, which no action of the audit log is. */
export const testType = 'webhook.test'

/** Every event type. Receivers depend on the names: one that was released is not renamed. */
export const eventTypes: readonly EventType[] = [
  ['cluster.changed', 'cluster', 'cluster.changed', 'A cluster was renamed or changed.'],
  ['cluster.connected', 'cluster', 'cluster.connected', 'A cluster was connected again.'],
  ['cluster.imported', 'cluster', 'cluster.imported', 'A cluster was imported.'],
  ['cluster.removed', 'cluster', 'cluster.removed', 'A cluster was removed from the service.'],
  ['contract.changed', 'contract', 'contract.updated', 'The terms of a contract were changed.'],
  ['contract.cluster_added', 'contract', 'cluster.added', 'A cluster was bound to a contract.'],
  ['contract.cluster_removed', 'contract', 'cluster.removed', 'A cluster was unbound from a contract.'],
  ['contract.created', 'contract', 'contract.created', 'A contract was created.'],
  ['contract.deleted', 'contract', 'contract.deleted', 'A contract was deleted.'],
  ['contract.extended', 'contract', 'contract.extended', 'A contract was extended.'],
  ['contract.revoked', 'contract', 'contract.revoked', 'A contract was revoked.'],
  ['license.issued', 'contract', 'license.issued', 'A license of a contract was issued.'],
  ['license.revoked', 'contract', 'license.revoked', 'A license of a contract was revoked.'],
  ['member.changed', 'organization', 'organization.membership_set', 'A member was added, or got another role.'],
  ['member.invited', 'organization', 'organization.member_invited', 'A person was invited to an organization.'],
  ['member.removed', 'organization', 'organization.member_removed', 'A member was removed from an organization.'],
  ['organization.changed', 'organization', 'organization.edited', 'An organization was changed.'],
  ['organization.created', 'organization', 'organization.created', 'An organization was created.'],
  ['organization.deleted', 'organization', 'organization.deleted', 'An organization was deleted.'],
  ['robot.created', 'robot_ac', 'robot.created', 'A robot account was created.'],
  ['robot.deleted', 'robot_ac', 'robot.deleted', 'A robot account was deleted.'],
  ['role.changed', 'role', 'role.updated', 'A role was changed.'],
  ['role.created', 'role', 'role.created', 'A role was created.'],
  ['role.deleted', 'role', 'role.deleted', 'A role was deleted.'],
  ['team.changed', 'team', 'team.edited', 'A team was changed.'],
  ['team.created', 'team', 'team.created', 'A team was created.'],
  ['team.deleted', 'team', 'team.deleted', 'A team was deleted.'],
  ['team.member_added', 'team', 'team.member_added', 'A member was added to a team.'],
  ['team.member_removed', 'team', 'team.member_removed', 'A member was removed from a team.'],
  ['user.created', 'user', 'user.created', 'A user was created.'],
  ['user.deactivated', 'user', 'user.deactivated', 'A user was deactivated.'],
  ['user.deleted', 'user', 'user.deleted', 'A user was deleted.'],
  ['user.signed_up', 'user', 'user.signed_up', 'A person signed up.'],
  ['webhook.disabled', 'webhook', 'webhook.disabled', 'The service disabled a webhook whose receiver failed for days.'],
].map(([type = '', objectType = '', action = '', summary = '']) => ({ type, objectType, action, summary }))

const keyOf = ({ objectType, action }: Pick<EventType, 'objectType' | 'action'>): string => `${objectType} ${action}`
const byAction: ReadonlyMap<string, EventType> = new Map(eventTypes.map((each) => [keyOf(each), each]))

/** The filter that lets every event pass. */
export const everyType = '*'

/** Returns the type of the event that an audit row is. A refusal is none. */
export const typeOf = (row: AuditEvent): string | undefined =>
  row.result === 'done' ? byAction.get(keyOf(row))?.type : undefined

/** What receivers learn of a change: who changed which object. They fetch the rest with their own rights. */
export interface EventData {
  readonly account_id: number
  readonly object: { readonly type: string; readonly id?: number; readonly name: string }
  readonly actor: { readonly id?: number; readonly login: string }
  /** The member, cluster or license that a change of the object concerns. */
  readonly details: Readonly<Record<string, string | number>>
}

export interface OutgoingEvent {
  readonly id: string
  readonly type: string
  readonly at: Date
  readonly data: EventData
}

/** Facts of audit rows that name what else a change concerns. Others stay in the audit log. */
const detailNames = ['user', 'login', 'cluster', 'serial'] as const

const detailsOf = ({ changes }: AuditEvent): EventData['details'] => {
  const facts = JSON.parse(changes) as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    detailNames.flatMap((name) => {
      const fact = facts[name]
      return typeof fact === 'string' || typeof fact === 'number' ? [[name, fact]] : []
    }),
  )
}

export const eventOfRow = (row: AuditEvent, type: string): OutgoingEvent => ({
  id: `evt_${row.id}`,
  type,
  at: row.at,
  data: {
    account_id: row.tenantId,
    object: { type: row.objectType, ...definedFields({ id: row.objectId }), name: row.objectName },
    actor: { ...definedFields({ id: row.actorId }), login: row.actorName },
    details: detailsOf(row),
  },
})

/**
 * Returns the body of an event.
 * @param source the address of the API, which CloudEvents name.
 */
export const bodyOf = ({ id, type, at, data }: OutgoingEvent, format: WebhookFormat, source: string): string => {
  const time = at.toISOString()
  return toWireJson(
    format === 'standard'
      ? { type, timestamp: time, data }
      : { specversion: '1.0', id, source, type, time, datacontenttype: 'application/json', data },
  )
}

const textOf = (description: string) => ({ type: 'string', description })
const idOf = (description: string) => ({ type: 'integer', description })

/** Returns the JSON Schema of the body of a type, in the form of Standard Webhooks. */
export const schemaOf = ({ type, summary }: EventType): FreeObject => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: type,
  description: summary,
  type: 'object',
  required: ['type', 'timestamp', 'data'],
  properties: {
    type: { const: type },
    timestamp: { type: 'string', format: 'date-time', description: 'When the change was made.' },
    data: {
      type: 'object',
      required: ['account_id', 'object', 'actor', 'details'],
      properties: {
        account_id: idOf('The organization or user that the change concerns; 0 for the site.'),
        object: {
          type: 'object',
          required: ['type', 'name'],
          properties: {
            type: textOf('The type of the object, as the audit log names it.'),
            id: idOf('The id of the object.'),
            name: textOf('The name of the object at that time.'),
          },
        },
        actor: {
          type: 'object',
          required: ['login'],
          properties: {
            id: idOf('The id of the user who made the change.'),
            login: textOf('The login of the user; empty if the service made the change.'),
          },
        },
        details: {
          type: 'object',
          description: 'What else the change concerns, if anything.',
          properties: {
            user: idOf('The id of a member.'),
            login: textOf('The login of a member.'),
            cluster: textOf('The UID of a cluster.'),
            serial: textOf('The serial number of a license.'),
          },
        },
      },
    },
  },
})
