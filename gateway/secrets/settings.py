"""The table of how programs are given a secret that has no form of its own: settings, code, command lines, headers, cookies.

Rule 1: it is matched on the text in lower case and without accents.
Rule 2: the name tells that a secret follows, the check on the value whether it did: a name for a secret is mostly given a variable.
"""

from gateway.secrets import checks as check
from gateway.secrets import numbers as number
from gateway.secrets.rules import LONG, Rule, prose

_VENDORS = (
    "mistral|cohere|zoom|algolia|datadog|auth0|okta|vercel|cloudflare|deepgram|assemblyai|elevenlabs|wandb|devops|openweather|appid|algoliasearch|twitch|paypal|jenkins"
    "|postmark|deepl|newrelic|segment|mixpanel|amplitude|rollbar|bugsnag|honeycomb|pagerduty|opsgenie|zendesk|freshdesk|jira|confluence|bitbucket|circleci|codecov"
    "|coveralls|fastly|linode|vultr|hetzner|ovh|imgur|spotify|strava|dropbox|evernote|trello|monday|clickup|coinbase|binance|kraken|alchemy|infura|etherscan|moralis"
    "|stability|together|deepseek|pinecone|weaviate|qdrant|cerebras|twilio|nexmo|vonage|plivo|messagebird|sendinblue|mailjet|sparkpost|pusher|ably|onesignal|mapbox|maptiler"
)
"""Whose keys have no form of their own: letters and digits, told by who is named before them."""
_NAME = r"(?:[_-][a-z0-9]{1,16}|[0-9]{1,2}){0,2}"

_COMMANDS = (
    prose(
        "password",
        "curl wget http",
        r"\b(?:curl|wget|https?|xh)\b[^\n]{0,200}[ \t](?:-u|--user)[ =]?[\"']?[^\s:\"']{1,64}:([^\s\"'\x00]{2,128})",
        check.url_password,
    ),
    prose("password", "sshpass", r"\bsshpass -p ?[\"']?([^\s\"'\x00]{2,128})", check.literal),
    prose(
        "password",
        "mysql mariadb -p",
        r"\b(?:mysql|mariadb|mysqldump|mysqladmin|mongo|mongosh|mongodump)\b[^\n]{0,120}[ \t]-p ?[\"']?([^\s\"'\x00-][^\s\"'\x00]{3,80})",
        check.literal,
    ),
    prose(
        "password",
        "redis-cli",
        r"\bredis-cli\b[^\n]{0,100}[ \t](?:-a|--pass) ?[\"']?([^\s\"'\x00]{4,128})",
        check.literal,
    ),
    prose(
        "password",
        "ldap smbclient net docker htpasswd",
        r"\b(?:ldap(?:search|add|modify|whoami)|docker login|htpasswd|az login|ansible)\b[^\n]{0,200}[ \t](?:-w|-p|-b) ?[\"']?([^\s\"'\x00]{4,128})",
        check.strange,
    ),
    prose(
        "password",
        "pgpassword mysql_pwd",
        r"\b(?:pgpassword|mysql_pwd|sshpass)=[\"']?([^\s\"'\x00]{3,128})",
        check.literal,
    ),
    prose(
        "password",
        "convertto-securestring",
        r"convertto-securestring (?:-string )?[\"']([^\"'\n]{4,128})[\"']",
        check.literal,
    ),
    prose(
        "password",
        "net cmdkey",
        r"\b(?:net use|net user|cmdkey)\b[^\n]{0,120}(?:/pass:|/user:[^\s]{1,64} |user [^\s]{1,40} )([^\s/\"']{6,128})",
        check.strange,
    ),
    prose(
        "password",
        "identified",
        r"\b(?:identified (?:with [^\s]{1,40} )?by|password) [\"']([^\"'\n]{4,128})[\"']",
        check.literal,
    ),
    prose(
        "password",
        "machine login",
        r"\bmachine [^\s]{1,120}\s+login [^\s]{1,120}\s+password ([^\s]{2,128})",
        check.literal,
    ),
    prose(
        "password",
        "pass",
        r"(?:^|[^a-z0-9])(?:pass|passwd|pwd)[ \t]{0,2}[:=][ \t]{0,3}[\"'`]?([^\s\"'`,;\x00]{4,128})",
        check.assigned_password,
    ),
    prose(
        "password",
        "echo printf",
        r"\b(?:echo|printf)(?: -n)? [\"']?([^\s\"']{4,128})[\"']? ?\| ?(?:sudo -s|docker login|chpasswd|passwd|openssl|kinit)",
        check.literal,
    ),
    prose(
        "password",
        "wpa_passphrase",
        r"\bwpa_passphrase [\"']?[^\s\"']{1,64}[\"']? [\"']?([^\s\"']{8,63})",
        check.literal,
    ),
    prose("password", "pass", r"(?:^|\n|> ?)pass ([^\s:]{6,128})", check.strange),
    prose(
        "password",
        "login auth connect credential bind",
        r"(?:login|auth|connect|credentials?|bind|bind_s)\([\"'][^\"'\n]{1,80}[\"'], ?[\"']([^\"'\s]{6,128})[\"']",
        check.strange,
    ),
    prose(
        "password",
        "@",
        r"\b[a-z0-9._%+-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,4} ?[:|] ?([^\s:|/\\]{6,64})",
        check.strange,
    ),
    prose(
        "password",
        "zip 7z psexec mosquitto sqlcmd plink openssl rdp smb kinit http --auth",
        r"\b(?:(?:un)?zip|7z[ar]?|unrar|psexec|mosquitto_[a-z]{3}|sqlcmd|plink|pscp|openssl|xfreerdp|rdesktop|http|https|xh|kinit)\b[^\n]{0,120}?"
        r"[ \t](?:-p|-pw|-k|/p:|--auth[ =][^\s:]{1,64}:|<<<|-passin pass:)[ \t]?[\"']?([^\s\"'\x00-][^\s\"'\x00]{4,80})",
        check.strange,
    ),
    prose(
        "password",
        "smb -u",
        r"\bsmb[a-z]{0,8}\b[^\n]{0,120}[ \t]-u ?[\"']?[^\s%\"']{1,64}%([^\s\"'\x00]{3,80})",
        check.literal,
    ),
    prose(
        "password",
        "psk",
        r"\b(?:wpa_?|wpa2_?|wifi_?)?(?:psk|passphrase)[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?([^\s\"'\n]{8,63})",
        check.literal,
    ),
    prose(
        "password",
        "-p",
        r"(?:^|\s)--?(?:[a-z-]{1,20}-)?(?:password|passwd|passphrase|pass)[ =][\"']?([^\s\"'\x00]{4,128})",
        check.assigned_password,
    ),
    prose(
        "password",
        "passw passphrase pwd passwort kennwort parol",
        r"(?:passw(?:or)?d|passphrase|pwd|passwort|kennwort)(?:[_-][a-z0-9]{1,16}|[0-9]{1,2})?[\"'`]{0,1}\]?[ \t]{0,8}(?::=|=>|=|:)[ \t]{0,8}[\"'`]([^\"'`\n\x00]{4,128})[\"'`]",
        check.quoted_password,
    ),
    prose(
        "password",
        "passw passphrase pwd",
        r"(?:passw(?:or)?d|passphrase|pwd)[\"'`]?, ?[\"'`]([^\s\"'`\x00]{6,128})[\"'`]",
        check.strange,
    ),
    prose(
        "password",
        "passw passphrase pwd",
        r"(?:passw(?:or)?d|passphrase|pwd)(?:[_-][a-z0-9]{1,16}|[0-9]{1,2})?[\"']?[ \t]{0,3}(?::=|=>|=|:)[ \t]{0,3}[\"'`]?([^\s\"'`,;\x00]{4,128})",
        check.assigned_password,
    ),
    prose(
        "password",
        "passw pwd secret passphrase",
        r"(?:passw(?:or)?d|passphrase|pwd)[\"']?(?: [a-z]{1,16}=\"[^\"\n]{0,40}\")?>[ \t]{0,3}([^\s<>]{4,128})</",
        check.element,
    ),
    prose(
        "password",
        "passw pwd",
        r"\b(?:passw(?:or)?d|pwd)[\"'] (?:value|content)=[\"']([^\"'\n]{4,128})[\"']",
        check.element,
    ),
    prose(
        "password",
        "passw bind pwd",
        r"[\"'`]([^\s\"'`]{8,64})[\"'`][^\n\"'`]{0,24}(?:#|//|--|/\*)[^\n]{0,40}\b(?:pass(?:word|wd|phrase)?|pwd|secret|credentials)\b",
        check.strange,
    ),
)

_KEYS = (
    prose(
        "api_key",
        "key token secret credential salt auth sign cookie hash_pepper pepper",
        rf"(?:api[_-]?key|secret|token|credentials?|access[_-]?key|private[_-]?key|preshared[_-]?key|presharedkey|privatekey|accesskey|secretkey|apikey|[a-z0-9][_.-]key|[a-z0-9]_auth|pepper|_salt){_NAME}"
        r"[\"'`]{0,1}\]?[ \t]{0,8}(?::=|=>|=|:|,)[ \t]{0,8}[\"'`]?((?:base64:)?[a-z0-9_./+=~!@#$%^&*()?-]{12,255})",
        check.assigned_key,
        LONG,
    ),
    prose(
        "api_key",
        " -t --token --api --key --secret --auth --access -k -token -key --with-token --pat --license",
        r"(?:^|\s)--?(?:[a-z-]{1,20}-)?(?:token|key|secret|auth|pat|apikey|license|k|t)[ =][\"']?([a-z0-9_./+=~:-]{16,255})",
        check.jagged_key,
        LONG,
    ),
    prose(
        "api_key",
        "x- -key: -token: -auth: api",
        r"\bx-[a-z-]{0,30}(?:key|token|auth|api|secret|password)[a-z-]{0,12}[\"']?[:=,] {0,2}[\"']?([a-z0-9_./+=~:-]{16,255})",
        check.jagged_key,
        LONG,
    ),
    prose(
        "api_key",
        "key token secret auth client credential login connect api sign",
        r"(?:key|token|secret|auth|client|credentials?|login|connect|apikey|sign)[a-z0-9_.]{0,24}\([^\n()]{0,80}?[\"'`]([a-z0-9_./+=~:-]{20,255})[\"'`]",
        check.jagged_key,
        LONG,
    ),
    prose(
        "api_key",
        "key token secret auth=",
        r"\bauth=\([\"'][^\"'\n]{1,80}[\"'], ?[\"']([^\s\"']{8,128})[\"']\)",
        check.strange,
    ),
    prose(
        "api_key",
        "key token secret ключ токен",
        r"(?:^|[\s\"'`(=:])([a-z0-9_./+=~-]{20,255})[\"'`)]{0,3}[^\n\"'`]{0,40}(?:#|//|--|/\*|\(|<-|is (?:my|the|our)|is an?|for)[^\n]{0,30}(?:\b(?:api|secret|access|auth)[ _-]?(?:key|token|secret)|\btoken\b|\bsecret\b)",
        check.jagged_key,
        LONG,
    ),
    prose(
        "api_key",
        "<",
        r"<[a-z:._-]{0,30}(?:key|token|secret|apikey)(?: [^<>\n]{0,80})?>[ \t]{0,3}([^\s<>]{12,255})</",
        check.jagged_key,
        LONG,
    ),
    prose(
        "api_key",
        "key token secret",
        r"(?:key|token|secret)[\"'] (?:value|content)=[\"']([^\"'\s]{12,255})[\"']",
        check.jagged_key,
        LONG,
    ),
    prose("session_cookie", "cookie:", r"cookie: ?[^\n]*?=([a-z0-9_./+=~%-]{20,255})", check.jagged_key, LONG),
    prose(
        "api_key",
        _VENDORS.replace("|", " ").replace("-?", "-"),
        rf"\b(?:{_VENDORS})[^\n]{{0,60}}?[\s\"'`=:(]([a-z0-9_-]{{24,255}})(?:[\s\"'`),;]|$)",
        check.jagged_key,
        LONG,
    ),
    prose(
        "api_key",
        "key token secret",
        r"(?:api|auth|server|access|account|app|license)[ _:-]?(?:key|token|secret)[^\n0-9a-f]{0,24}([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:[^0-9a-z]|$)",
        check.assigned_key,
        LONG,
    ),
    prose(
        "session_cookie",
        "sess sid auth remember jwt token cookie",
        r"(?:^|[;:,\s\"'])(?:[a-z0-9_.-]{0,24}(?:sess(?:ion)?(?:[_-]?id)?|sid|auth|remember[a-z_]{0,20}|jwt|token|csrf|xsrf)[a-z0-9_.-]{0,24})=[\"']?(?:s%3a)?([a-z0-9_./+=~%-]{20,255})",
        check.jagged_key,
        LONG,
    ),
    prose(
        "api_key",
        "[?&][a-z_]+=",
        r"[?&](?:key|token|api_?key|access_token|auth(?:_token|key)?|secret|sig(?:nature)?|client_secret|password|pwd)=([a-z0-9_./+=~%-]{12,255})",
        check.jagged_key,
        LONG,
    ),
    prose(
        "totp_seed",
        "totp 2fa otp mfa authenticator",
        r"\b(?:totp|2fa|otp|mfa|authenticator)[^\n]{0,50}?[^a-z0-9]([a-z2-7]{4}(?:[ -][a-z2-7]{4}){3,15}|[a-z2-7]{16,64})(?:[^a-z0-9]|$)",
        number.base32_seed,
    ),
)

SETTINGS: tuple[Rule, ...] = (*_COMMANDS, *_KEYS)
"""What the names in commands, code and files of settings tell, most telling first."""
