CREATE DATABASE {all:Identifier}
