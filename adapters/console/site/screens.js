import { texts } from './texts.js'

/**
 * Every screen of the console. A screen is one module that exports `screen`, and one line here. Its module is loaded
 * when it is first shown.
 *
 * @type {readonly import('api-shapes').Screen[]}
 */
export const screens = [
  {
    path: '/',
    nav: { group: 'home', label: texts.home.title, order: 1, icon: 'home' },
    load: () => import('./screens/home.js'),
  },
  {
    path: '/o/:owner/members',
    nav: { group: 'organization', label: texts.members.title, order: 10, icon: 'members' },
    isFor: 'organization',
    load: () => import('./screens/organization/members.js'),
  },
  {
    path: '/o/:owner/teams',
    nav: { group: 'organization', label: texts.teams.title, order: 20, icon: 'teams' },
    isFor: 'organization',
    load: () => import('./screens/organization/teams.js'),
  },
  { path: '/o/:owner/teams/:id', load: () => import('./screens/organization/team.js') },
  {
    path: '/o/:owner/roles',
    nav: { group: 'organization', label: texts.roles.title, order: 30, icon: 'roles' },
    isFor: 'organization',
    load: () => import('./screens/organization/roles.js'),
  },
  { path: '/o/:owner/roles/:id', load: () => import('./screens/organization/role.js') },
  {
    path: '/o/:owner/robots',
    nav: { group: 'organization', label: texts.robots.title, order: 40, icon: 'robots' },
    isFor: 'organization',
    load: () => import('./screens/organization/robots.js'),
  },
  { path: '/o/:owner/robots/:robot', load: () => import('./screens/organization/robot.js') },
  {
    path: '/o/:owner/invitations',
    nav: { group: 'organization', label: texts.invitations.title, order: 50, icon: 'mail' },
    isFor: 'organization',
    load: () => import('./screens/organization/invitations.js'),
  },
  {
    path: '/o/:owner/audit',
    nav: { group: 'organization', label: texts.audit.title, order: 60, icon: 'audit' },
    isFor: 'organization',
    load: () => import('./screens/organization/audit.js'),
  },
  {
    path: '/o/:owner/settings',
    nav: { group: 'organization', label: texts.settings.title, order: 70, icon: 'site' },
    isFor: 'organization',
    load: () => import('./screens/organization/settings.js'),
  },
  {
    path: '/o/:owner/hubs',
    nav: { group: 'work', label: texts.hubs.title, order: 40, icon: 'hubs' },
    load: () => import('./screens/hubs/hubs.js'),
  },
  { path: '/o/:owner/hubs/:hub', load: () => import('./screens/hubs/hub.js') },
  { path: '/o/:owner/hubs/:hub/sets', load: () => import('./screens/hubs/clustersets.js') },
  { path: '/o/:owner/hubs/:hub/sets/:set', load: () => import('./screens/hubs/clusterset.js') },
  {
    path: '/o/:owner/installation',
    nav: { group: 'work', label: texts.installation.title, order: 90, icon: 'info' },
    load: () => import('./screens/clusters/installation.js'),
  },
  {
    path: '/o/:owner/contracts',
    nav: { group: 'billing', label: texts.contracts.title, order: 10, icon: 'contracts' },
    deployments: 'vendor-or-marketplace',
    load: () => import('./screens/billing/contracts.js'),
  },
  { path: '/o/:owner/contracts/:id', load: () => import('./screens/billing/contract.js') },
  {
    path: '/o/:owner/usage',
    nav: { group: 'billing', label: texts.usage.title, order: 20, icon: 'usage' },
    load: () => import('./screens/billing/usage.js'),
  },
  {
    path: '/o/:owner/invoices',
    nav: { group: 'billing', label: texts.invoices.title, order: 25, icon: 'audit' },
    deployments: 'vendor-or-marketplace',
    load: () => import('./screens/billing/invoices.js'),
  },
  { path: '/o/:owner/invoices/:id', load: () => import('./screens/billing/invoice.js') },
  {
    path: '/o/:owner/incoming',
    nav: { group: 'billing', label: texts.incoming.title, order: 30, icon: 'mail' },
    isFor: 'site-admin',
    load: () => import('./screens/billing/incoming.js'),
  },
  {
    path: '/vendor/contracts',
    nav: { group: 'vendor', label: texts.contracts.allTitle, order: 10, icon: 'contracts' },
    isFor: 'site-admin',
    deployments: 'vendor-or-marketplace',
    load: () => import('./screens/billing/contracts.js'),
  },
  {
    path: '/vendor/customers',
    nav: { group: 'vendor', label: texts.customers.title, order: 20, icon: 'usage' },
    isFor: 'site-admin',
    load: () => import('./screens/vendor/customers.js'),
  },
  {
    path: '/vendor/client-organizations',
    nav: { group: 'vendor', label: texts.clientOrgs.title, order: 30, icon: 'vendor' },
    isFor: 'site-admin',
    load: () => import('./screens/vendor/client-orgs.js'),
  },
  {
    path: '/vendor/subscriptions',
    nav: { group: 'vendor', label: texts.subscriptions.title, order: 40, icon: 'packages' },
    isFor: 'site-admin',
    deployments: 'any-marketplace',
    load: () => import('./screens/vendor/subscriptions.js'),
  },
  {
    path: '/site/users',
    nav: { group: 'site', label: texts.users.title, order: 10, icon: 'members' },
    isFor: 'site-admin',
    load: () => import('./screens/site/users.js'),
  },
  {
    path: '/site/organizations',
    nav: { group: 'site', label: texts.allOrganizations.title, order: 20, icon: 'teams' },
    isFor: 'site-admin',
    load: () => import('./screens/site/organizations.js'),
  },
  {
    path: '/site/service',
    nav: { group: 'site', label: texts.service.title, order: 30, icon: 'site' },
    isFor: 'site-admin',
    load: () => import('./screens/site/service.js'),
  },
  {
    path: '/site/branding',
    nav: { group: 'site', label: texts.branding.title, order: 40, icon: 'roles' },
    isFor: 'site-admin',
    load: () => import('./screens/site/branding.js'),
  },
  {
    path: '/o/:owner/clusters',
    nav: { group: 'work', label: texts.clusters.title, order: 10, icon: 'clusters' },
    load: () => import('./screens/clusters/clusters.js'),
  },
  { path: '/o/:owner/import-cluster', load: () => import('./screens/clusters/import-cluster.js') },
  { path: '/o/:owner/clusters/:cluster', load: () => import('./screens/clusters/cluster.js') },
  { path: '/o/:owner/clusters/:cluster/workloads', load: () => import('./screens/clusters/workloads.js') },
  { path: '/o/:owner/clusters/:cluster/events', load: () => import('./screens/clusters/events.js') },
  { path: '/o/:owner/clusters/:cluster/releases', load: () => import('./screens/packages/releases.js') },
  {
    path: '/o/:owner/clusters/:cluster/releases/:namespace/:name',
    load: () => import('./screens/packages/release.js'),
  },
  {
    path: '/o/:owner/packages',
    nav: { group: 'work', label: texts.repositories.title, order: 20, icon: 'packages' },
    isFor: 'organization',
    load: () => import('./screens/packages/repositories.js'),
  },
  { path: '/o/:owner/packages/:repository', load: () => import('./screens/packages/charts.js') },
  { path: '/o/:owner/packages/:repository/:chart', load: () => import('./screens/packages/install.js') },
  {
    path: '/o/:owner/tasks',
    nav: { group: 'work', label: texts.taskList.title, order: 90, icon: 'tasks' },
    load: () => import('./screens/tasks/tasks.js'),
  },
  { path: '/o/:owner/tasks/:id', load: () => import('./screens/tasks/task.js') },
]
