import { definePlugin } from '../kit/plugin.ts'
import { claimGroup, installerGroup, subscriptionGroup, sweepGroup } from './administration.handlers.ts'
import { messageGroup } from './messages.handlers.ts'
import { claimCheckGroup, notificationGroup } from './notifications.handlers.ts'

/** What site admins do with subscriptions, installers and claims. */
export const marketplacePlugin = definePlugin({
  id: 'marketplace',
  summary: 'Subscriptions of a cloud marketplace, installers and claims',
  listener: 'api',
  gate: 'any-marketplace',
  groups: [subscriptionGroup, claimGroup, installerGroup, sweepGroup],
})

/** What marketplaces, installers and installations send. */
export const marketplaceHooksPlugin = definePlugin({
  id: 'marketplace-hooks',
  summary: 'Notifications of cloud marketplaces',
  listener: 'marketplace',
  gate: 'any-marketplace',
  groups: [notificationGroup, claimCheckGroup],
})

/** What topics and subscriptions of providers send. */
export const marketplaceMessagesPlugin = definePlugin({
  id: 'marketplace-messages',
  summary: 'Messages of cloud marketplaces about customers',
  listener: 'marketplace',
  gate: 'any-marketplace',
  groups: [messageGroup],
})
