"""Calls the service with the client that openapi-generator generates for Python."""

import os

import generated_client as generated
from generated_client.exceptions import ApiException

LOGIN = os.environ["MOORAGE_LOGIN"]
NAME = os.environ["MOORAGE_NAME"]


def say(call, result):
    print(f"{call}: {result}")


def yes(value):
    return "true" if value else "false"


def say_error(call, make):
    try:
        make()
    except ApiException as refused:
        error = refused.data
        assert isinstance(error, generated.Error), f"{call}: the body was not decoded: {error!r}"
        say(call, f"{refused.status} {error.code} {yes(error.message)}")
        return
    raise AssertionError(call)


def client_with(**credentials):
    configuration = generated.Configuration(host=os.environ["MOORAGE_URL"], **credentials)
    return generated.ApiClient(configuration)


def teams_calls(organizations):
    option = generated.CreateTeamOption(name="deployers", permission="write")
    team = organizations.organizations_create_team(NAME, option)
    say("create team", team.name)
    teams = organizations.organizations_list_teams(NAME)
    say("teams", ", ".join(sorted(each.name for each in teams)))
    say("add member", organizations.organizations_add_team_member_with_http_info(team.id, "ada").status_code)
    members = organizations.organizations_list_team_members(team.id)
    say("members", ", ".join(each.login for each in members))


def token_calls(users):
    token = users.identity_create_token(LOGIN, generated.CreateAccessTokenOption(name=NAME, scopes=["all"]))
    say("create token", f"{token.name} {yes(token.sha1)}")
    say("tokens", yes(any(each.id == token.id for each in users.identity_list_tokens(LOGIN))))
    say("delete token", users.identity_delete_token_with_http_info(LOGIN, str(token.id)).status_code)


def main():
    as_user = client_with(api_key={"tokenHeader": os.environ["MOORAGE_TOKEN"]}, api_key_prefix={"tokenHeader": "token"})
    with_password = client_with(username=LOGIN, password=os.environ["MOORAGE_PASSWORD"])
    organizations = generated.IdentityOrganizationsTeamsApi(as_user)
    users = generated.IdentityUsersSettingsApi(as_user)

    say("version", generated.MiscellaneousApi(as_user).platform_get_version().version)
    say("own user", users.identity_get_caller().login)
    page = users.identity_search_users_with_http_info(page=2, limit=1)
    say("users", f"{len(page.data.data)} of {page.headers['X-Total-Count']}")
    option = generated.CreateOrgOption(username=NAME, full_name="First")
    say("create organization", organizations.organizations_create_organization(option).full_name)
    change = generated.EditOrgOption(full_name="Second")
    say("edit organization", organizations.organizations_edit_organization(NAME, change).full_name)
    say("get organization", organizations.organizations_get_organization(NAME).full_name)
    teams_calls(organizations)
    token_calls(generated.IdentityUsersSettingsApi(with_password))
    say("roles", len(generated.AuthorizationApi(as_user).authz_list_roles(org=NAME)))
    say("settings", generated.MiscellaneousApi(as_user).platform_get_api_settings().max_response_items)
    say_error("name in use", lambda: organizations.organizations_create_organization(option))
    say("delete organization", organizations.organizations_delete_organization_with_http_info(NAME).status_code)
    say_error("deleted organization", lambda: organizations.organizations_get_organization(NAME))


main()
