import fc from 'fast-check'
import { pick } from '../../adapters/sql/kit/columns.ts'
import { webhooks } from '../../adapters/sql/tables/webhooks.ts'
import { makeSqlWebhookStore } from '../../adapters/sql/webhooks/webhook-store.ts'
import type { OrgId } from '../../core/kernel/ids.ts'
import type { StoreChange } from './store-change.fixture.ts'
import { at, organization } from './store-change.fixture.ts'

const content = { name: 'a', url: 'https://a.example', events: ['*'], format: 'standard', isEnabled: true } as const

/** What a caller can change of a webhook. */
export const webhookChanges: Readonly<Record<string, StoreChange>> = {
  'a webhook': {
    tables: [webhooks],
    columns: pick(webhooks, 'name', 'url', 'events', 'format', 'isEnabled'),
    chosen: { events: fc.array(fc.string()), format: fc.constantFrom('standard', 'cloudevents') },
    prepare: async (db) => {
      const orgId = (await organization(db)).id as OrgId
      const store = makeSqlWebhookStore(db)(db)
      const id = await store.insert(orgId, content, { ref: 'r', box: new Uint8Array(1), formerUntil: undefined }, at)
      return async (fields) => {
        await store.replace((await store.find(orgId, id))!, { ...content, ...fields }, at)
        return store.find(orgId, id)
      }
    },
  },
}
