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
    load: () => import('./screens/members.js'),
  },
  {
    path: '/o/:owner/teams',
    nav: { group: 'organization', label: texts.teams.title, order: 20, icon: 'teams' },
    isFor: 'organization',
    load: () => import('./screens/teams.js'),
  },
  { path: '/o/:owner/teams/:id', load: () => import('./screens/team.js') },
  {
    path: '/o/:owner/roles',
    nav: { group: 'organization', label: texts.roles.title, order: 30, icon: 'roles' },
    isFor: 'organization',
    load: () => import('./screens/roles.js'),
  },
  { path: '/o/:owner/roles/:id', load: () => import('./screens/role.js') },
  {
    path: '/o/:owner/robots',
    nav: { group: 'organization', label: texts.robots.title, order: 40, icon: 'robots' },
    isFor: 'organization',
    load: () => import('./screens/robots.js'),
  },
  { path: '/o/:owner/robots/:robot', load: () => import('./screens/robot.js') },
  {
    path: '/o/:owner/invitations',
    nav: { group: 'organization', label: texts.invitations.title, order: 50, icon: 'mail' },
    isFor: 'organization',
    load: () => import('./screens/invitations.js'),
  },
  {
    path: '/o/:owner/audit',
    nav: { group: 'organization', label: texts.audit.title, order: 60, icon: 'audit' },
    isFor: 'organization',
    load: () => import('./screens/audit.js'),
  },
  {
    path: '/o/:owner/settings',
    nav: { group: 'organization', label: texts.settings.title, order: 70, icon: 'site' },
    isFor: 'organization',
    load: () => import('./screens/settings.js'),
  },
]
